// Groups of captions that are read together: one of a word or two joins the next, if possible.
// No DOM.

import { textFor } from "./captions.js";
import { countWords, gapOf } from "./words.js";

const FEW_WORDS = 2;
const JOIN_WITHIN_S = 6; // "Amen." before a long silence stays alone: the next is unrelated.

/** A block has a caption's fields; `id` is its first caption's id, `lastId` its last caption's. */
function blockOf(captions) {
  return {
    id: captions[0].id,
    lastId: captions[captions.length - 1].id,
    seq: Math.max(...captions.map((caption) => caption.seq)),
    final: captions.every((caption) => caption.final),
    captions,
  };
}

/** The text of a block for a reader of `lang`. */
export function blockText({ captions }, lang) {
  const texts = captions.map((caption) => textFor(caption, lang));
  return texts.map(({ text }) => text).join(gapOf(texts[0].lang));
}

/** Whether `block` is so short that it should wait briefly for the next caption to join. */
export function isShort(block, lang) {
  return countWords(blockText(block, lang), textFor(block.captions[0], lang).lang) <= FEW_WORDS;
}

/** Group `captions`, oldest first, into blocks for a reader of `lang`. */
export function blocksOf(captions, lang) {
  const groups = [];
  let words = 0; // of the last group
  for (const caption of captions) {
    const group = groups[groups.length - 1];
    const last = group?.[group.length - 1];
    const { text, lang: textLang } = textFor(caption, lang);
    const joins =
      last?.final &&
      words <= FEW_WORDS &&
      textFor(last, lang).lang === textLang &&
      caption.start_s - last.end_s <= JOIN_WITHIN_S;
    if (joins) group.push(caption);
    else groups.push([caption]);
    words = (joins ? words : 0) + countWords(text, textLang);
  }
  return groups.map(blockOf);
}
