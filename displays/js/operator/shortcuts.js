// Shortcuts, off by default: a button's letter presses it, unless somebody types, a dialog is open
// or the page has no focus. While they are off, text typed into the wrong window does nothing.

import { recall, remember } from "../shared/storage.js";
import { holdOf } from "./hold.js";

const KEY = "operator-shortcuts";
const TYPING = "input:not([type=checkbox]), textarea, select, [contenteditable], [role=textbox]";

function busy(event) {
  if (event.defaultPrevented || event.repeat || event.isComposing || !document.hasFocus()) return true;
  return isTyping(event.target) || document.querySelector("dialog[open]");
}

/** Whether somebody types there. A field keeps the focus for a frame after its dialog closes. */
function isTyping(target) {
  const field = target.closest(TYPING);
  return field !== null && field.checkVisibility?.() !== false;
}

/** The button key of this event, or "". */
export function keyOf({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  if ((ctrlKey || metaKey) && !altKey && !shiftKey && key.toLowerCase() === "z") return "u";
  return ctrlKey || metaKey || altKey || key.length !== 1 ? "" : key.toLowerCase();
}

/** Let the key of a `data-key` button press or hold it; the checkbox `toggle` switches that. */
export function listenForKeys(toggle) {
  let held;
  const show = () => {
    document.body.classList.toggle("keys", toggle.checked);
    for (const button of document.querySelectorAll("button[data-key]")) {
      const key = button.dataset.key.toUpperCase();
      if (toggle.checked) button.setAttribute("aria-keyshortcuts", key === "U" ? "U Control+Z" : key);
      else button.removeAttribute("aria-keyshortcuts");
    }
  };
  toggle.checked = recall("localStorage", KEY) === "on";
  toggle.addEventListener("change", () => {
    remember("localStorage", KEY, toggle.checked ? "on" : "");
    show();
  });
  show();
  document.addEventListener("keydown", (event) => {
    if (!toggle.checked || busy(event)) return;
    const key = keyOf(event);
    const button = key && document.querySelector(`button[data-key="${CSS.escape(key)}"]`);
    if (!button || button.disabled || button.checkVisibility?.() === false) return;
    // Otherwise the letter is typed into the field that the button opens.
    event.preventDefault();
    held = holdOf(button);
    if (held) held.start();
    else button.click();
  });
  document.addEventListener("keyup", () => held?.end());
}
