// Starts Swagger UI. A token that is pasted in stays in this page's memory: it is gone when the page closes.

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function followColourScheme() {
  document.documentElement.classList.toggle("dark-mode", prefersDark.matches);
}

followColourScheme();
prefersDark.addEventListener("change", followColourScheme);

globalThis.SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayOperationId: false,
  displayRequestDuration: true,
  docExpansion: "list",
  persistAuthorization: false,
  tryItOutEnabled: true,
  // The default sends the address of this page's description to a public validator.
  validatorUrl: null,
});
