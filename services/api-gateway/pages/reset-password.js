// The page behind the password mail's link. What a password has to be is decided by the service alone.
import { post, readyToShow, refuse, showAnswer, takeToken } from "./mail-link.js";

const form = document.querySelector("form");
const button = document.querySelector("button");
const password = document.querySelector("#password");
const again = document.querySelector("#again");
const token = takeToken();

form.hidden = token === undefined;

readyToShow([password, again]);

async function setPassword() {
  for (const field of [password, again]) field.removeAttribute("aria-invalid");
  if (password.value !== again.value) return refuse(again, "The two passwords differ.");
  button.disabled = true;
  const answer = await post("api/auth/reset-password", { token, new_password: password.value });
  button.disabled = false;
  form.hidden = !answer.mayTryAgain;
  if (answer.faulty) return refuse(password, ...answer.sentences);
  showAnswer(answer);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void setPassword();
});
