// Blocks of finals as the projector shows them one at a time: folded into lines; long ones paged.

import { breakLines, paginate } from "../render/line_breaking.js";
import { blockText } from "../shared/blocks.js";
import { textFor } from "../shared/captions.js";
import { gapOf } from "../shared/words.js";

const PER_PAGE = 1 / 1000; // Pages of caption 7 are 7, 7.001, 7.002 ...
const LETTER = /[\p{L}\p{N}\p{M}]/u;

/** Make a block like `block` that contains only `text`, folded, for a reader of `lang`. */
function page(block, id, lang, text, folded) {
  const [first] = block.captions;
  const shown = { ...textFor(first, lang), text: folded };
  const spoken = shown.lang === first.source.lang;
  const caption = { ...first, id, source: spoken ? shown : { ...first.source, text: "" }, target: shown };
  return { ...block, id, lastId: id, captions: [caption], text };
}

/** How many pages of `before` (not its last, which may grow) `text` starts with; and their end. */
function unchanged(before, text, lang) {
  let count = 0;
  let end = 0;
  for (const known of before.slice(0, -1)) {
    const start = end + text.slice(end).search(/\S|$/);
    const after = start + known.text.length;
    if (!text.startsWith(known.text, start) || (gapOf(lang) !== "" && LETTER.test(text.charAt(after)))) break;
    count += 1;
    end = after;
  }
  return [count, end];
}

/**
 * The pages of `block`, each of at most `lines` lines of width `most` (in `widthOf` units). Pages
 * of `before`, an earlier revision, stay while their text is the same. A change on a page that is
 * gone (up to the id `gone`) comes as a new page, so that moved page breaks lose no word.
 */
export function pagesOf(block, lang, { lines, most, widthOf, before = [], gone = -1 }) {
  const textLang = textFor(block.captions[0], lang).lang;
  const text = blockText(block, lang);
  const [count, end] = unchanged(before, text, textLang);
  const kept = before.slice(0, count);
  const left = before.filter(({ id }) => id <= gone).length;
  const first = Math.max(count, left);
  const pages = paginate(text.slice(end).trim(), textLang, lines, most, widthOf).map((each, at) => {
    const folded = breakLines(each, textLang, most, widthOf).join("\n");
    return page(block, block.id + (first + at) * PER_PAGE, lang, each, folded);
  });
  const all = [...kept, ...pages];
  if (all.length > 0) all[all.length - 1].lastId = Math.max(block.lastId, all[all.length - 1].id);
  return all;
}
