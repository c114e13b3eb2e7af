// The pages' own texts, from js/words. To add a language, copy and translate one of those modules,
// and list it here under its language tag.
// languages.toml has all other facts about languages.

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

/** Set the language of an element's text, and its writing direction. */
export function setLanguage(element, lang) {
  if (element.lang === lang) return;
  element.lang = lang;
  element.dir = direction(lang);
}

/** The language tags of the pages' texts. */
export const PAGE_LANGS = Object.keys(TABLE);

/** The first of `wanted` tags ("es-MX" matches "es") that the pages have, else English. */
export function pickLang(wanted) {
  for (const tag of wanted) {
    const lang = tag.split("-")[0].toLowerCase();
    if (lang in TABLE) return lang;
  }
  return "en";
}

/** The texts in one of `PAGE_LANGS`. */
export function words(lang) {
  return TABLE[lang];
}

/** A language's own name: "es" is "Español". */
export function languageName(lang) {
  if (lang in LANGUAGES) return LANGUAGES[lang].own;
  if (!Intl.DisplayNames) return lang;
  const name = new Intl.DisplayNames([lang], { type: "language" }).of(lang);
  return name.charAt(0).toLocaleUpperCase(lang) + name.slice(1);
}

/** Set the texts below `root` that are marked data-word (text) or data-label (accessible name). */
export function translatePage(root, table) {
  for (const element of root.querySelectorAll("[data-word]")) {
    element.textContent = table[element.dataset.word];
  }
  for (const element of root.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", table[element.dataset.label]);
  }
}
