// The page behind the verification mail's link. It always says a password: the one of the registration, which the reader has
// to know, or a new one. What a password has to be is decided by the service alone.
import { post, readyToShow, refuse, showAnswer, takeToken } from "./mail-link.js";

const form = document.querySelector("form");
const button = document.querySelector("button");
const password = document.querySelector("#password");
const again = document.querySelector("#again");
const repeat = document.querySelector("#repeat");
const label = document.querySelector("#label");
const token = takeToken();

const words = { password: "Password of the registration", new_password: "New password" };

form.hidden = token === undefined;
readyToShow([password, again]);

const chosen = () => new FormData(form).get("which");

form.addEventListener("change", ({ target }) => {
  if (target.name !== "which") return;
  const isNew = chosen() === "new_password";
  repeat.hidden = !isNew;
  label.textContent = words[chosen()];
  password.autocomplete = isNew ? "new-password" : "current-password";
});

async function confirm() {
  for (const field of [password, again]) field.removeAttribute("aria-invalid");
  const which = chosen();
  if (password.value === "") return refuse(password, `${words[which]}: please type it.`);
  if (which === "new_password" && password.value !== again.value)
    return refuse(again, "The two passwords differ.");
  button.disabled = true;
  const address = `api/auth/verify-email?${new URLSearchParams({ token })}`;
  const answer = await post(address, { [which]: password.value });
  button.disabled = false;
  form.hidden = !answer.mayTryAgain;
  if (answer.faulty) return refuse(password, ...answer.sentences);
  showAnswer(answer);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void confirm();
});
