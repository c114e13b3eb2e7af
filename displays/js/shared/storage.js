// Values that a page stores. If a browser forbids storage, the page works without it.

/** The stored value in `place`, "sessionStorage" or "localStorage", or "". */
export function recall(place, key) {
  try {
    return window[place].getItem(key) ?? "";
  } catch {
    return "";
  }
}

/** Store a value; "" removes it. */
export function remember(place, key, value) {
  try {
    if (value === "") window[place].removeItem(key);
    else window[place].setItem(key, value);
  } catch {
    // Storage is forbidden: the value lasts until the page is closed.
  }
}
