// The languages of today, offered at a reader's first visit where their browser does not say which one they read.

import { languageName, setLanguage } from "../shared/i18n.js";

const dialog = document.getElementById("door");
const list = document.getElementById("door-langs");

/** Whether a reader should be asked: there is a choice, and `lang`, which they got, is none of the browser's own. */
export function isUnsure(targets, lang, browserLangs) {
  return targets.length > 1 && !browserLangs.some((tag) => tag.toLowerCase().split("-")[0] === lang);
}

/** Offer `langs`; `onChoose(lang)` hears the choice, which is `current` if the reader closes the sheet. */
export function offerLanguages(langs, current, onChoose) {
  if (!dialog.showModal || dialog.open) return; // A browser from before 2022: the settings have the choice.
  let chosen = current;
  list.replaceChildren(...langs.map((lang) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = languageName(lang);
    setLanguage(button, lang);
    button.addEventListener("click", () => {
      chosen = lang;
      dialog.close();
    });
    return button;
  }));
  dialog.addEventListener("close", () => onChoose(chosen), { once: true });
  dialog.showModal();
}
