// Which language's captions the desk shows, edits and asks about, and which one is spoken, where there are several.

import { languageName } from "../shared/i18n.js";
import { make } from "./row.js";
import { fill, wording } from "./wording.js";

const box = document.getElementById("langs");
const spokenBox = document.getElementById("spoken");
let drawn = "";

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

/**
 * Show which of the `spoken` languages is heard `now`, with a button that lets the program find out and one that forces each.
 * `onForce(lang)` hears of the one that is pressed, "" for the first.
 */
export function showSpoken({ spoken, forced, now }, isAble, onForce) {
  const wanted = JSON.stringify([spoken, forced, now, isAble]);
  if (wanted === drawn) return; // Who is about to press a button must not lose it.
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
