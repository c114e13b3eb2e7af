// What a page remembers. Where a browser forbids it, the page works and forgets.

/** The value kept in `place`, "sessionStorage" or "localStorage", or "". */
export function recall(place, key) {
  try {
    return window[place].getItem(key) ?? "";
  } catch {
    return "";
  }
}

/** Keep a value; "" forgets it. */
export function remember(place, key, value) {
  try {
    if (value === "") window[place].removeItem(key);
    else window[place].setItem(key, value);
  } catch {
    // Forbidden here: it holds until the page is closed.
  }
}
