// The page behind the verification mail's link.
import { post, showAnswer, takeToken } from "./mail-link.js";

const form = document.querySelector("form");
const button = document.querySelector("button");
const token = takeToken();

form.hidden = token === undefined;

async function confirm() {
  button.disabled = true;
  const answer = await post(`api/auth/verify-email?${new URLSearchParams({ token })}`);
  button.disabled = false;
  form.hidden = !answer.mayTryAgain;
  showAnswer(answer);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void confirm();
});
