// What this reader chose, remembered on this device.

const KEY = "stark-translate";

/** Text sizes by number; css/audience.css says what they are. */
export const SIZES = { smallest: 1, largest: 7 };

export const THEMES = ["auto", "light", "dark", "contrast"];

/** `lang` and `page` are language tags, "" for the server's target and the browser's own. */
const DEFAULTS = { size: 3, theme: "auto", source: false, lang: "", page: "" };

function stored() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {}; // Storage is forbidden here, or another version wrote it: the defaults will do.
  }
}

/** The preferences of this device, defaults filled in. */
export function loadPreferences() {
  return { ...DEFAULTS, ...stored() };
}

/** Remember `preferences`; where storage is forbidden they hold until the page is closed. */
export function savePreferences(preferences) {
  try {
    localStorage.setItem(KEY, JSON.stringify(preferences));
  } catch (error) {
    console.info("preferences are not remembered:", error.name);
  }
}
