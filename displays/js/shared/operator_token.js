// The operator's token. One from the address stays in this tab; a paired device keeps its token in
// this browser until it is signed out. No token is part of a requested address.

import { recall, remember } from "./storage.js";

const KEY = "operator-token";

/** Remove `#token=...` from the address, so that nobody can read it on the screen. "" if none. */
function fromAddress() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return "";
  history.replaceState(null, "", location.pathname + location.search);
  try {
    return decodeURIComponent(found[1]);
  } catch {
    return found[1]; // A token with an unescaped percent sign.
  }
}

/** The token of the address, this tab or this device, or "". */
export function loadToken() {
  const token = fromAddress() || recall("sessionStorage", KEY) || recall("localStorage", KEY);
  if (token) keepToken(token);
  return token;
}

export function keepToken(token) {
  remember("sessionStorage", KEY, token);
}

/** Store the token of this paired device. */
export function keepDevice(token) {
  remember("localStorage", KEY, token);
}

export function forgetToken() {
  keepToken("");
  keepDevice("");
}

/** Call `take` with a token that is put into the address while the page is open. */
export function onToken(take) {
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=")) take(loadToken());
  });
}
