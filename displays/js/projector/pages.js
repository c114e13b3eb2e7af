// Blocks of finals as the projector shows them one at a time: folded into lines, and a long one into pages.

import { breakLines, paginate } from "../render/line_breaking.js";
import { blockText } from "../shared/blocks.js";
import { textFor } from "../shared/captions.js";

const PER_PAGE = 1 / 1000; // Pages of caption 7 are 7, 7.001, 7.002 ...

/** `block` as one that says `text` to a reader of `lang`, and nothing else. */
function page(block, id, lastId, lang, text) {
  const [first] = block.captions;
  const shown = { ...textFor(first, lang), text };
  const spoken = shown.lang === first.source.lang;
  const caption = { ...first, id, source: spoken ? shown : { ...first.source, text: "" }, target: shown };
  return { ...block, id, lastId, captions: [caption] };
}

/** The pages of `block`, each of at most `lines` lines of the width `most` in the unit of `widthOf`. */
export function pagesOf(block, lang, { lines, most, widthOf }) {
  const textLang = textFor(block.captions[0], lang).lang;
  const texts = paginate(blockText(block, lang), textLang, lines, most, widthOf);
  return texts.map((text, at) => {
    const id = block.id + at * PER_PAGE;
    const folded = breakLines(text, textLang, most, widthOf).join("\n");
    return page(block, id, at === texts.length - 1 ? block.lastId : id, lang, folded);
  });
}
