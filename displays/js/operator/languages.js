// Selects the caption language of the desk, and the spoken language if there are several.

import { languageName } from "../shared/i18n.js";
import { make } from "./row.js";
import { fill, wording } from "./wording.js";

const box = document.getElementById("langs");
const spokenBox = document.getElementById("spoken");
let drawn = "";

/** Show a button per target; `lang` is pressed. `onChoose(lang)` is called for another one. */
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

/**
 * Show which `spoken` language is heard `now`, with a button to detect it and one to force each.
 * `onForce(lang)` is called with the pressed one, "" for detection.
 */
export function showSpoken({ spoken, forced, now }, isAble, onForce) {
  const wanted = JSON.stringify([spoken, forced, now, isAble]);
  if (wanted === drawn) return; // A button must not vanish while it is being pressed.
  drawn = wanted;
  spokenBox.hidden = spoken.length < 2;
  spokenBox.replaceChildren(...(spoken.length < 2 ? [] : ["", ...spoken]).map((lang) => {
    const says = lang === "" ? fill(wording.spoken_detected, { language: languageName(now || spoken[0]) }) : languageName(lang);
    const button = make("button", lang !== "" && lang === (now || spoken[0]) ? "heard" : "", says);
    Object.assign(button, { type: "button", disabled: !isAble });
    if (lang !== "") button.lang = lang;
    button.setAttribute("aria-pressed", lang === forced);
    button.addEventListener("click", () => onForce(lang));
    return button;
  }));
}
