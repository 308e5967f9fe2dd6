// What the pages behind links of mails share: taking the token out of the address, asking the service, and saying its
// answer in plain words.

const timeoutMs = 20_000;

const words = {
  incomplete: "This page needs the whole link: please open it from the mail again.",
  spent: "A link works once and not for long, and only the newest one counts: please ask for a new mail.",
  unreachable: "The service could not be reached. Please try again.",
};

/** The token, which leaves the address bar and with it the history; undefined, and said so, when there is none. */
export function takeToken() {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  history.replaceState(null, "", location.pathname);
  if (token !== "") return token;
  showAnswer({ good: false, sentences: [words.incomplete] });
  return undefined;
}

/** Answers `{good, faulty, mayTryAgain, sentences}`: `faulty` means that what was typed has to change (422). */
export async function post(address, body) {
  try {
    const response = await fetch(address, {
      method: "POST",
      credentials: "omit",
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined
        ? {}
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const { detail } = await response.json();
    const sentences = Array.isArray(detail) ? detail.map(faultSentence) : [sentence(String(detail))];
    const isSpent = response.status === 400;
    return {
      good: response.ok,
      faulty: response.status === 422,
      mayTryAgain: !response.ok && !isSpent,
      sentences: isSpent ? [...sentences, words.spent] : sentences,
    };
  } catch {
    return { good: false, faulty: false, mayTryAgain: true, sentences: [words.unreachable] };
  }
}

export function showAnswer({ good, sentences }) {
  const place = document.querySelector("#answer");
  place.className = good ? "good" : "bad";
  place.replaceChildren(
    ...sentences.map((text) => Object.assign(document.createElement("p"), { textContent: text })),
  );
  place.focus();
}

/** What was typed has to change: says why, and puts the cursor there. */
export function refuse(field, ...sentences) {
  field.setAttribute("aria-invalid", "true");
  showAnswer({ good: false, sentences });
  field.focus();
}

/** The box "Show what I type". */
export function readyToShow(fields) {
  const show = document.querySelector("#show");
  show.addEventListener("change", () => {
    for (const field of fields) field.type = show.checked ? "text" : "password";
  });
}

/** "String should have at least 8 characters" is said of whatever field; people want to read of which. */
function faultSentence({ loc, msg }) {
  const field = loc.at(-1) === "token" ? "The link" : "The password";
  return sentence(msg.replace(/^Value error, /, "").replace(/^(?:String|Input|Field) /, `${field} `));
}

function sentence(text) {
  const first = text.charAt(0).toUpperCase();
  return `${first}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
