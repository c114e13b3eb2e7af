// The audience page's first socket. It is opened while the other modules and the styles are still on their way,
// and asks for few captions at first: on a slow phone both together save the better part of a second.

import { Line } from "./line.js";
import { loadPreferences } from "./preferences.js";

export const FIRST_CAPTIONS = 16; // More than fill a phone's screen.

export const early = new Line({
  kind: "audience",
  lang: loadPreferences().lang,
  history: FIRST_CAPTIONS,
});
