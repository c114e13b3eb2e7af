// The pages' own words, of js/words. To add a language, copy one of those modules, translate it, and list it here; the
// key is its language tag.
// What else there is to know of languages stands in languages.toml.

import { AR } from "../words/ar.js";
import { DE } from "../words/de.js";
import { EN } from "../words/en.js";
import { ES } from "../words/es.js";
import { FR } from "../words/fr.js";
import { KO } from "../words/ko.js";
import { PT } from "../words/pt.js";
import { ZH } from "../words/zh.js";
import { LANGUAGES } from "./languages.js";

const TABLE = { en: EN, es: ES, fr: FR, de: DE, pt: PT, ko: KO, zh: ZH, ar: AR };

/** The `dir` of a language tag such as "es" or "ar-EG". */
export function direction(lang) {
  return LANGUAGES[lang.split("-")[0].toLowerCase()]?.direction ?? "ltr";
}

/** Give an element's text its language, and the direction that it is written in. */
export function setLanguage(element, lang) {
  if (element.lang === lang) return;
  element.lang = lang;
  element.dir = direction(lang);
}

/** Language tags that the pages speak. */
export const PAGE_LANGS = Object.keys(TABLE);

/** The first of `wanted` language tags ("es-MX" will do for "es") that the pages speak, else English. */
export function pickLang(wanted) {
  for (const tag of wanted) {
    const lang = tag.split("-")[0].toLowerCase();
    if (lang in TABLE) return lang;
  }
  return "en";
}

/** The words of one of `PAGE_LANGS`. */
export function words(lang) {
  return TABLE[lang];
}

/** A language's name for itself: "es" is "Español". */
export function languageName(lang) {
  if (lang in LANGUAGES) return LANGUAGES[lang].own;
  if (!Intl.DisplayNames) return lang;
  const name = new Intl.DisplayNames([lang], { type: "language" }).of(lang);
  return name.charAt(0).toLocaleUpperCase(lang) + name.slice(1);
}

/** Write words into every element below `root` marked data-word (its text) or data-label (its accessible name). */
export function translatePage(root, table) {
  for (const element of root.querySelectorAll("[data-word]")) {
    element.textContent = table[element.dataset.word];
  }
  for (const element of root.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", table[element.dataset.label]);
  }
}
