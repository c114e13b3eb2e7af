// Shortcuts: the letter shown on a button presses it, unless somebody types or a dialog is open.

import { recall, remember } from "../shared/storage.js";

const KEY = "operator-shortcuts";
const TYPING = "input:not([type=checkbox]), textarea, select, [contenteditable]";

function busy(event) {
  return event.defaultPrevented || event.repeat || event.target.closest(TYPING) || document.querySelector("dialog[open]");
}

/** The key of a button that this event stands for, or "". */
export function keyOf({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  if ((ctrlKey || metaKey) && !altKey && !shiftKey && key.toLowerCase() === "z") return "u";
  return ctrlKey || metaKey || altKey || key.length !== 1 ? "" : key.toLowerCase();
}

/** Let every button with `data-key` be pressed by its key; the checkbox `toggle` switches that off and on. */
export function listenForKeys(toggle) {
  toggle.checked = recall("localStorage", KEY) !== "off";
  toggle.addEventListener("change", () => remember("localStorage", KEY, toggle.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    if (!toggle.checked || busy(event)) return;
    const key = keyOf(event);
    const button = key && document.querySelector(`button[data-key="${CSS.escape(key)}"]`);
    if (!button || button.disabled || button.checkVisibility?.() === false) return;
    event.preventDefault();
    button.click();
  });
}
