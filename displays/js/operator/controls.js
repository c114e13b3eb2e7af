// Buttons and lines of the desk. What says it already is not touched: it would be laid out again.

/** Have a button say a word with an icon, and work or not. */
export function button(one, able, word, icon) {
  one.disabled = !able;
  setText(one.querySelector(".word"), word);
  one.querySelector("use")?.setAttribute("href", `#icon-${icon}`);
}

/** Have an element say a text. */
export function setText(one, text) {
  if (one.textContent !== text) one.textContent = text;
}
