// Buttons and lines of the desk. Unchanged text is not written: that would cause a new layout.

/** Set a button's word and icon, and enable or disable it. */
export function button(one, able, word, icon) {
  one.disabled = !able;
  setText(one.querySelector(".word"), word);
  one.querySelector("use")?.setAttribute("href", `#icon-${icon}`);
}

/** Set the text of an element. */
export function setText(one, text) {
  if (one.textContent !== text) one.textContent = text;
}
