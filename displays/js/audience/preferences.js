// What this reader chose, remembered on this device.

import { recall, remember } from "../shared/storage.js";

const KEY = "stark-translate"; // js/audience/preconnect.js reads it as well

/** Text sizes by number; css/audience.css says what they are. */
export const SIZES = { smallest: 1, largest: 7 };

export const THEMES = ["auto", "light", "dark", "contrast"];

/** `lang` and `page` are language tags, "" for what fits the browser's own languages. */
const DEFAULTS = { size: 3, theme: "auto", source: false, lang: "", page: "" };

/** The preferences of this device, defaults filled in; a link with `?lang=` chooses for it. */
export function loadPreferences() {
  const [lang] = /^[a-z]{2,3}(?![a-z])/i.exec(new URLSearchParams(location.search).get("lang")) ?? [];
  return { ...kept(), ...(lang && { lang: lang.toLowerCase() }) };
}

function kept() {
  try {
    return { ...DEFAULTS, ...JSON.parse(recall("localStorage", KEY) || "{}") };
  } catch {
    return DEFAULTS; // Another version wrote something else.
  }
}

/** Take `?lang=` out of the address: the reader has chosen otherwise, and a reload must not forget it. */
export function forgetLinkLanguage() {
  const url = new URL(location.href);
  if (!url.searchParams.has("lang")) return;
  url.searchParams.delete("lang");
  history.replaceState(null, "", url);
}

/** Remember `preferences`; where storage is forbidden they hold until the page is closed. */
export function savePreferences(preferences) {
  remember("localStorage", KEY, JSON.stringify(preferences));
}
