// What of the captions stands for good: on a wall a word that is taken back draws all eyes. No document in here.

import { splitAt } from "../render/caption_text.js";
import { textFor } from "../shared/captions.js";

const known = new WeakMap(); // A view tells by the object whether there is anything to do.

/** `caption` with the beginning of its target text that is committed. */
function cut(caption) {
  if (!known.has(caption)) {
    const [text] = splitAt(caption.target.text, caption.stable);
    known.set(caption, { ...caption, target: { ...caption.target, text: text.trimEnd() } });
  }
  return known.get(caption);
}

/** What of a caption that is not final is shown: what stands, or the final before it while that says more. */
function shown(caption, before) {
  const now = cut(caption);
  return before && now.target.text.length <= before.target.text.length ? before : now;
}

/** What a reader of `lang` is shown of `captions`: finals, and of others what stands, if anything does. */
export function committed(captions, lang) {
  return captions
    .visible(lang)
    .map((caption) => {
      // `stable` is about the target text: who reads the spoken language is shown all of it.
      if (caption.final || lang === caption.source.lang) return caption;
      return shown(caption, captions.finalOf(caption.id));
    })
    .filter((caption) => textFor(caption, lang).text !== "");
}
