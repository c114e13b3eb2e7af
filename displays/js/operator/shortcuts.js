// Shortcuts, for who has switched them on: the letter shown on a button presses it, unless somebody types, a dialog is
// open or the page is not in front. Without that no letter acts: what somebody types into the wrong window does nothing.

import { recall, remember } from "../shared/storage.js";
import { holdOf } from "./hold.js";

const KEY = "operator-shortcuts";
const TYPING = "input:not([type=checkbox]), textarea, select, [contenteditable], [role=textbox]";

function busy(event) {
  if (event.defaultPrevented || event.repeat || event.isComposing || !document.hasFocus()) return true;
  return isTyping(event.target) || document.querySelector("dialog[open]");
}

/** Whether somebody writes there. A field of a dialog keeps the focus until the frame after the dialog has closed. */
function isTyping(target) {
  const field = target.closest(TYPING);
  return field !== null && field.checkVisibility?.() !== false;
}

/** The key of a button that this event stands for, or "". */
export function keyOf({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  if ((ctrlKey || metaKey) && !altKey && !shiftKey && key.toLowerCase() === "z") return "u";
  return ctrlKey || metaKey || altKey || key.length !== 1 ? "" : key.toLowerCase();
}

/** Let every button with `data-key` be pressed, or held, by its key; the checkbox `toggle` switches that off and on. */
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
    // Else the letter would be typed into the field that the button brings up.
    event.preventDefault();
    held = holdOf(button);
    if (held) held.start();
    else button.click();
  });
  document.addEventListener("keyup", () => held?.end());
}
