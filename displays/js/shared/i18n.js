// The pages' own words. To add a language, copy a block and translate it; the key is its language tag.
// What else there is to know of languages stands in languages.toml.

import { LANGUAGES } from "./languages.js";

const TABLE = {
  en: {
    title: "Live captions",
    invitation: "Captions on your phone",
    connecting: "Connecting",
    reconnecting: "Reconnecting",
    outdated: "Please reload this page",
    rehearsal: "Standby: rehearsal",
    starting: "Starting",
    listening: "Listening",
    paused: "Paused",
    song: "Music",
    blank: "Captions are off for a moment",
    behind: "A little behind",
    muted: "In a moment",
    "no-audio": "Microphone lost",
    fault: "Technical problem",
    ended: "The service has ended",
    waiting: "The words will appear here.",
    settings: "Settings",
    close: "Close",
    live: "Live",
    captions: "Captions",
    text_size: "Text size",
    smaller: "Smaller text",
    larger: "Larger text",
    theme: "Colours",
    auto: "Automatic",
    light: "Light",
    dark: "Dark",
    contrast: "High contrast",
    show_source: "Show the spoken language as well",
    caption_language: "Captions in",
    page_language: "Page in",
    asleep: "If the screen goes dark by itself, choose a longer time in the phone's own display settings.",
  },
  es: {
    title: "Subtítulos en vivo",
    invitation: "Subtítulos en su teléfono",
    connecting: "Conectando",
    reconnecting: "Reconectando",
    outdated: "Vuelva a cargar esta página",
    rehearsal: "En espera: ensayo",
    starting: "Iniciando",
    listening: "Escuchando",
    paused: "En pausa",
    song: "Música",
    blank: "Subtítulos apagados por un momento",
    behind: "Con un poco de retraso",
    muted: "Un momento",
    "no-audio": "Sin micrófono",
    fault: "Problema técnico",
    ended: "El culto ha terminado",
    waiting: "Aquí aparecerán las palabras.",
    settings: "Ajustes",
    close: "Cerrar",
    live: "En vivo",
    captions: "Subtítulos",
    text_size: "Tamaño del texto",
    smaller: "Texto más pequeño",
    larger: "Texto más grande",
    theme: "Colores",
    auto: "Automático",
    light: "Claro",
    dark: "Oscuro",
    contrast: "Alto contraste",
    show_source: "Mostrar también el idioma hablado",
    caption_language: "Subtítulos en",
    page_language: "Página en",
    asleep: "Si la pantalla se apaga sola, elija un tiempo más largo en los ajustes de pantalla del teléfono.",
  },
};

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
