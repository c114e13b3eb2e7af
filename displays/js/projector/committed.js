// The committed text of captions: on a wall, a word that is taken back draws all eyes. No DOM.

import { splitAt } from "../render/caption_text.js";
import { textFor } from "../shared/captions.js";

const known = new WeakMap(); // A view compares objects to detect a change.

/** `caption` with only the committed prefix of its target text. */
function cut(caption) {
  if (!known.has(caption)) {
    const [text] = splitAt(caption.target.text, caption.stable);
    known.set(caption, { ...caption, target: { ...caption.target, text: text.trimEnd() } });
  }
  return known.get(caption);
}

/** What to show of a partial: its committed prefix, or its last final while that is longer. */
function shown(caption, before) {
  const now = cut(caption);
  return before && now.target.text.length <= before.target.text.length ? before : now;
}

/** The captions for a reader of `lang`: finals, and non-empty committed prefixes of partials. */
export function committed(captions, lang) {
  return captions
    .visible(lang)
    .map((caption) => {
      // `stable` counts target text: readers of the spoken language see all of it.
      if (caption.final || lang === caption.source.lang) return caption;
      return shown(caption, captions.finalOf(caption.id));
    })
    .filter((caption) => textFor(caption, lang).text !== "");
}
