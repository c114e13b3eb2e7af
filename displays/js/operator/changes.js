// What a rule or a rendering would change among the captions of today, before it is kept.

import { make } from "./row.js";
import { fill, wording } from "./wording.js";

const FEW = 3; // So many are shown at once.

/** Tell of `captions` in a list that opens, or that there are none; with null nothing is known, and nothing told. */
export function showChanges(also, none, captions) {
  const others = captions ?? [];
  none.hidden = captions === null || others.length > 0;
  also.hidden = others.length === 0;
  also.firstElementChild.textContent = fill(wording.offer_also, { count: others.length });
  also.lastElementChild.replaceChildren(...others.map(({ text }) => make("li", "", text)));
  also.open = others.length > 0 && others.length <= FEW;
}
