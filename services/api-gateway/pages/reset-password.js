// The page behind the password mail's link. What a password has to be is decided by the service alone.
import { post, showAnswer, takeToken } from "./mail-link.js";

const form = document.querySelector("form");
const button = document.querySelector("button");
const password = document.querySelector("#password");
const again = document.querySelector("#again");
const show = document.querySelector("#show");
const token = takeToken();

form.hidden = token === undefined;

show.addEventListener("change", () => {
  for (const field of [password, again]) field.type = show.checked ? "text" : "password";
});

function refuse(field, answer) {
  field.setAttribute("aria-invalid", "true");
  showAnswer(answer);
  field.focus();
}

async function setPassword() {
  for (const field of [password, again]) field.removeAttribute("aria-invalid");
  if (password.value !== again.value) {
    return refuse(again, { good: false, mayTryAgain: true, sentences: ["The two passwords differ."] });
  }
  button.disabled = true;
  const answer = await post("api/auth/reset-password", { token, new_password: password.value });
  button.disabled = false;
  form.hidden = !answer.mayTryAgain;
  if (answer.faulty) return refuse(password, answer);
  showAnswer(answer);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void setPassword();
});
