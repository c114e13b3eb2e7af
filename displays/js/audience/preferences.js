// This reader's choices, stored on this device.

import { recall, remember } from "../shared/storage.js";

const KEY = "stark-translate"; // js/audience/preconnect.js reads it as well

/** Text sizes by number; css/audience.css defines them. */
export const SIZES = { smallest: 1, largest: 7 };

export const THEMES = ["auto", "light", "dark", "contrast"];

/** `lang` and `page` are language tags; "" means: follow the browser's languages. */
const DEFAULTS = { size: 3, theme: "auto", source: false, lang: "", page: "" };

/** The preferences of this device with defaults; `?lang=` in a link overrides the language. */
export function loadPreferences() {
  const [lang] = /^[a-z]{2,3}(?![a-z])/i.exec(new URLSearchParams(location.search).get("lang")) ?? [];
  return { ...kept(), ...(lang && { lang: lang.toLowerCase() }) };
}

function kept() {
  try {
    return { ...DEFAULTS, ...JSON.parse(recall("localStorage", KEY) || "{}") };
  } catch {
    return DEFAULTS; // Another version wrote an unknown format.
  }
}

/** Remove `?lang=` from the address: the reader chose another one, and a reload must keep it. */
export function forgetLinkLanguage() {
  const url = new URL(location.href);
  if (!url.searchParams.has("lang")) return;
  url.searchParams.delete("lang");
  history.replaceState(null, "", url);
}

/** Store `preferences`; if storage is forbidden, they last until the page is closed. */
export function savePreferences(preferences) {
  remember("localStorage", KEY, JSON.stringify(preferences));
}
