// What this reader chose, remembered on this device.

import { recall, remember } from "../shared/storage.js";

const KEY = "stark-translate"; // js/audience/preconnect.js reads it as well

/** Text sizes by number; css/audience.css says what they are. */
export const SIZES = { smallest: 1, largest: 7 };

export const THEMES = ["auto", "light", "dark", "contrast"];

/** `lang` and `page` are language tags, "" for the server's target and the browser's own. */
const DEFAULTS = { size: 3, theme: "auto", source: false, lang: "", page: "" };

/** The preferences of this device, defaults filled in. */
export function loadPreferences() {
  try {
    return { ...DEFAULTS, ...JSON.parse(recall("localStorage", KEY) || "{}") };
  } catch {
    return DEFAULTS; // Another version wrote something else.
  }
}

/** Remember `preferences`; where storage is forbidden they hold until the page is closed. */
export function savePreferences(preferences) {
  remember("localStorage", KEY, JSON.stringify(preferences));
}
