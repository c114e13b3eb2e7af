// Which language's captions the desk shows, edits and asks about, where there are several.

import { languageName } from "../shared/i18n.js";
import { make } from "./row.js";

const box = document.getElementById("langs");

/** Show a button for each of the `targets`, that of `lang` pressed; with one there is nothing to choose. `onChoose(lang)` hears of another. */
export function showLanguages({ targets, lang }, onChoose) {
  box.hidden = targets.length < 2;
  box.replaceChildren(...targets.map((target) => {
    const button = make("button", "", languageName(target));
    Object.assign(button, { type: "button", lang: target });
    button.setAttribute("aria-pressed", target === lang);
    button.addEventListener("click", () => target !== lang && onChoose(target));
    return button;
  }));
}
