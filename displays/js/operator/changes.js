// Which captions of today a rule or a rendering would change, before it is saved.

import { make } from "./row.js";
import { fill, wording } from "./wording.js";

const FEW = 3; // Up to this many are shown without opening the list.

/** List `captions`, or say that there are none; null (unknown) shows neither. */
export function showChanges(also, none, captions) {
  const others = captions ?? [];
  none.hidden = captions === null || others.length > 0;
  also.hidden = others.length === 0;
  also.firstElementChild.textContent = fill(wording.offer_also, { count: others.length });
  also.lastElementChild.replaceChildren(...others.map(({ text }) => make("li", "", text)));
  also.open = others.length > 0 && others.length <= FEW;
}
