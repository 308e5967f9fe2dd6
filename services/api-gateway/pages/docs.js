// Starts Swagger UI. A token that is pasted in survives a reload of this tab, and is gone when the tab closes.

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function followColourScheme() {
  document.documentElement.classList.toggle("dark-mode", prefersDark.matches);
}

followColourScheme();
prefersDark.addEventListener("change", followColourScheme);

const storedUnder = "records-token";

/** Swagger UI's own way would keep the token for good, for every tab. */
const keepsToken = () => ({
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (original) => (given) => {
          const { value } = given.bearerAuth ?? {};
          if (typeof value === "string") sessionStorage.setItem(storedUnder, value);
          return original(given);
        },
        logout: (original) => (names) => {
          sessionStorage.removeItem(storedUnder);
          return original(names);
        },
      },
    },
  },
});

const ui = globalThis.SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayOperationId: false,
  displayRequestDuration: true,
  docExpansion: "list",
  persistAuthorization: false,
  plugins: [keepsToken],
  onComplete: () => {
    const token = sessionStorage.getItem(storedUnder);
    if (token !== null) ui.preauthorizeApiKey("bearerAuth", token);
  },
  tryItOutEnabled: true,
  // The default sends the address of this page's description to a public validator.
  validatorUrl: null,
});
