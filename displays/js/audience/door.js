// Offers today's languages at the first visit, if the browser's languages do not decide it.

import { languageName, setLanguage } from "../shared/i18n.js";

const dialog = document.getElementById("door");
const list = document.getElementById("door-langs");

/** Whether to ask: there is a choice, and `lang` (assigned) is none of the browser's languages. */
export function isUnsure(targets, lang, browserLangs) {
  return targets.length > 1 && !browserLangs.some((tag) => tag.toLowerCase().split("-")[0] === lang);
}

/** Offer `langs`; call `onChoose(lang)`, with `current` if the reader closes the sheet. */
export function offerLanguages(langs, current, onChoose) {
  if (!dialog.showModal || dialog.open) return; // Browser older than 2022: use the settings.
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
