// The console's own texts in the reader's language, which is settled as the page opens. To add a language, copy a module
// of js/operator/words, translate it, and list it here; the audience's pages have theirs in js/words.

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

/** The language tag of this page: what was chosen on this device, else the first of the browser's that it speaks. */
export const LANG = pickLang([recall("localStorage", KEY), ...navigator.languages]);

/** The texts of that language. */
export const wording = TABLE[LANG];

/** A piece of any language such that it keeps its order in a line from right to left: "6.4 s" is not to become "s 6.4". */
export function isolate(text) {
  return direction(LANG) === "rtl" && text !== "" ? `\u2068${text}\u2069` : String(text);
}

/** A text with a value for each `{name}` in it. */
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, name) => isolate(values[name]));
}

/** Have an element say a text. What stands between backticks becomes an element: code, or what its data-mark says. */
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

/** Write the texts into all of the page that is marked with data-word, data-label (its accessible name) or data-title; `select` chooses another language. */
export function translateDesk(select) {
  setLanguage(document.documentElement, LANG);
  for (const element of document.querySelectorAll("[data-word]")) write(element, wording[element.dataset.word]);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", wording[element.dataset.label]);
  for (const element of document.querySelectorAll("[data-title]")) element.title = wording[element.dataset.title];
  listenForLanguage(select);
}

/** The language that is chosen is kept on this device, and the page opens anew in it. */
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
