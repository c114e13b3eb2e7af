// The console's own texts in the reader's language, chosen when the page opens. To add a language,
// copy and translate a module of js/operator/words and list it here; audience pages use js/words.

import { direction, languageName, PAGE_LANGS, pickLang, setLanguage } from "../shared/i18n.js";
import { recall, remember } from "../shared/storage.js";
import { AR } from "./words/ar.js";
import { DE } from "./words/de.js";
import { EN } from "./words/en.js";
import { ES } from "./words/es.js";
import { FR } from "./words/fr.js";
import { KO } from "./words/ko.js";
import { PT } from "./words/pt.js";
import { ZH } from "./words/zh.js";

const TABLE = { en: EN, es: ES, fr: FR, de: DE, pt: PT, ko: KO, zh: ZH, ar: AR };
const KEY = "operator-lang";

/** This page's language tag: chosen on this device, else the first browser language that exists. */
export const LANG = pickLang([recall("localStorage", KEY), ...navigator.languages]);

/** The texts in that language. */
export const wording = TABLE[LANG];

/** Keep the order of a piece in right-to-left text: "6.4 s" must not become "s 6.4". */
export function isolate(text) {
  return direction(LANG) === "rtl" && text !== "" ? `\u2068${text}\u2069` : String(text);
}

/** Fill in a value for each `{name}` in a text. */
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, name) => isolate(values[name]));
}

/** Set an element's text. Text between backticks becomes an element: code, or its data-mark. */
function write(element, text) {
  const parts = text.split("`").map((part, index) => {
    if (index % 2 === 0) return part;
    const mark = document.createElement(element.dataset.mark ?? "code");
    mark.dir = "ltr";
    mark.textContent = part;
    return mark;
  });
  element.replaceChildren(...parts);
}

/** Set all texts marked data-word, data-label (accessible name) or data-title; fill `select`. */
export function translateDesk(select) {
  setLanguage(document.documentElement, LANG);
  for (const element of document.querySelectorAll("[data-word]")) write(element, wording[element.dataset.word]);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", wording[element.dataset.label]);
  for (const element of document.querySelectorAll("[data-title]")) element.title = wording[element.dataset.title];
  listenForLanguage(select);
}

/** Store a chosen language on this device and reload the page. */
function listenForLanguage(select) {
  const options = PAGE_LANGS.map((lang) => {
    const option = new Option(languageName(lang), lang, false, lang === LANG);
    option.lang = lang;
    return option;
  });
  select.replaceChildren(...options);
  select.addEventListener("change", () => {
    remember("localStorage", KEY, select.value);
    location.reload();
  });
}
