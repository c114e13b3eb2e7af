// Signs in a device with a one-time code or a token. Password managers recognize the fields.

import { wording } from "./wording.js";

const [form, name, code, token, problem, enter, byToken] = ["login", "volunteer", "code", "token", "login-problem", "enter", "by-token"].map((id) =>
  document.getElementById(id),
);

/** Move `#code=123456`, from the desk's QR code, out of the address into the field. */
function takeCode() {
  const [, digits] = /^#code=(\d{6})$/.exec(location.hash) ?? [];
  if (!digits) return;
  history.replaceState(null, "", location.pathname + location.search);
  code.value = digits;
}

/** `onToken(token)` gets a typed token, `onCode(code, name)` a typed code. */
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
  if (appears && code.value) name.focus(); // only the name is missing
  enter.disabled = isBusy;
}

/** Put the token in its field, where a password manager finds it. */
export function fillToken(value) {
  token.value = value;
}

export function clearLogin() {
  for (const field of [code, token]) field.value = "";
  problem.textContent = "";
}

/** Show why this device is refused, and wait for another try. */
export function refuseLogin(reason) {
  problem.textContent = reason;
  (byToken.open ? token : code).select();
}
