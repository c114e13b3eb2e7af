// The operator's token: that of the address in this tab only, that of a paired device in this browser until it is signed out.
// It is never part of a request.

import { recall, remember } from "./storage.js";

const KEY = "operator-token";

/** Take `#token=...` out of the address, so that nobody reads it over a shoulder. "" if there is none. */
function fromAddress() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return "";
  history.replaceState(null, "", location.pathname + location.search);
  try {
    return decodeURIComponent(found[1]);
  } catch {
    return found[1]; // A token with a bare percent sign.
  }
}

/** The token of the address or of this tab, or "". */
export function loadToken() {
  const token = fromAddress() || recall("sessionStorage", KEY) || recall("localStorage", KEY);
  if (token) keepToken(token);
  return token;
}

export function keepToken(token) {
  remember("sessionStorage", KEY, token);
}

/** Keep the token that this device was paired for. */
export function keepDevice(token) {
  remember("localStorage", KEY, token);
}

export function forgetToken() {
  keepToken("");
  keepDevice("");
}

/** Hear of a token that is put into the address while the page is open. */
export function onToken(take) {
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=")) take(loadToken());
  });
}
