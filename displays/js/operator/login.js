// The form that lets a device in: by a code once, or by a token. Its fields are those that password managers look for.

import { wording } from "./wording.js";

const [form, name, code, token, problem, enter, byToken] = ["login", "volunteer", "code", "token", "login-problem", "enter", "by-token"].map((id) =>
  document.getElementById(id),
);

/** Take `#code=123456` of the picture that the desk shows out of the address, into its field. */
function takeCode() {
  const [, digits] = /^#code=(\d{6})$/.exec(location.hash) ?? [];
  if (!digits) return;
  history.replaceState(null, "", location.pathname + location.search);
  code.value = digits;
}

/** `onToken(token)` where one was typed, `onCode(code, name)` where a code was. */
export function listenForLogin({ onToken, onCode }) {
  takeCode();
  addEventListener("hashchange", takeCode);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const typed = code.value.trim();
    if (typed && !token.value.trim()) onCode(typed, name.value.trim() || wording.volunteer);
    else onToken(token.value.trim());
  });
}

export function renderLogin({ isHidden, isBusy }) {
  const appears = form.hidden && !isHidden;
  form.hidden = isHidden;
  if (appears && code.value) name.focus(); // the name is all that is missing
  enter.disabled = isBusy;
}

/** Leave the token in its field, where a password manager finds it. */
export function fillToken(value) {
  token.value = value;
}

export function clearLogin() {
  for (const field of [code, token]) field.value = "";
  problem.textContent = "";
}

/** Say why this device is not let in, and wait for another try. */
export function refuseLogin(reason) {
  problem.textContent = reason;
  (byToken.open ? token : code).select();
}
