// Line breaks in a whole sentence: lines of similar length, phrases kept together, no single words.
// No DOM. Finds the optimum over all breaks, like Knuth and Plass for paragraphs (1981).

import { LANGUAGES } from "../shared/languages.js";
import { piecesOf } from "../shared/words.js";

const SENTENCE_END = /[.!?…。！？]["'”’»)」』）]*$/;
const CLAUSE_END = /[,;:—–)，、；：]["'”’»)」』）]*$/;

// The cost of a break, in units of the squared full width of a line or page.
const AFTER_CLAUSE = 0.01;
const AFTER_WORD = 0.06;
const AFTER_LEANING = 0.3;
const ONE_WORD = 0.6;
const ONE_MORE = 0.1; // for one page above the minimum

const leaningWords = new Map(Object.entries(LANGUAGES).map(([lang, { leaning }]) => [lang, new Set(leaning)]));

function breakCost(word, lang) {
  if (SENTENCE_END.test(word)) return 0;
  if (CLAUSE_END.test(word)) return AFTER_CLAUSE;
  const bare = word.toLowerCase().replace(/^[^\p{L}]+/u, "");
  return leaningWords.get(lang.split("-")[0])?.has(bare) ? AFTER_LEANING : AFTER_WORD;
}

/** The words of a text with their measures. */
function measured(text, lang, widthOf) {
  const words = piecesOf(text, lang);
  const space = widthOf(" ");
  const gaps = words.map(({ gap }) => (gap === "" ? 0 : space));
  const ends = [0]; // ends[i]: width of the first i words, each with its space
  words.forEach((word, at) => ends.push(ends[at] + widthOf(word.text) + gaps[at]));
  return {
    words,
    width: (start, end) => ends[end] - ends[start] - gaps[end - 1],
    breakAfter: words.map((word) => breakCost(word.text, lang)),
  };
}

/** Count the rows for words `start` to `end`, each with as many as `fits(start, end)` allows. */
function fewest(start, end, fits) {
  let rows = 1;
  let first = start;
  for (let next = start + 1; next <= end; next += 1) {
    if (next - first > 1 && !fits(first, next)) {
      rows += 1;
      first = next - 1;
    }
  }
  return rows;
}

/** Split the words into `count` fitting rows of similar width. Return row starts and cost. */
function divide({ words, width, breakAfter }, count, full, fits) {
  const total = words.length;
  const ideal = width(0, total) / count;
  // ways[i]: the cheapest way to put the first i words into `row` rows.
  let ways = [{ cost: 0, starts: [] }];
  for (let row = 1; row <= count; row += 1) {
    const next = [];
    for (let end = row; end <= total; end += 1) {
      for (let start = end - 1; start >= row - 1; start -= 1) {
        if (end - start > 1 && !fits(start, end)) break;
        if (!ways[start]) continue;
        const uneven = ((width(start, end) - ideal) / full) ** 2;
        const alone = end - start === 1 ? ONE_WORD : 0;
        const cost = ways[start].cost + uneven + alone + (end < total ? breakAfter[end - 1] : 0);
        if (!next[end] || cost < next[end].cost) next[end] = { cost, starts: [...ways[start].starts, start] };
      }
    }
    ways = next;
  }
  return ways[total];
}

function textOf(row) {
  return row.map(({ text, gap }) => text + gap).join("").trimEnd();
}

function rowTexts({ words }, { starts }) {
  return starts.map((start, at) => textOf(words.slice(start, starts[at + 1])));
}

/**
 * Split `text` of `lang` into the fewest lines. No line is wider than `most`, except a single word.
 * `widthOf(text)` measures in the unit of `most`.
 */
export function breakLines(text, lang, most, widthOf) {
  const all = measured(text, lang, widthOf);
  if (all.words.length === 0) return [];
  const fits = (start, end) => all.width(start, end) <= most;
  return rowTexts(all, divide(all, fewest(0, all.words.length, fits), most, fits));
}

/**
 * Split `text` into the fewest pages of at most `lines` lines, or into one more page if that avoids
 * a break in the middle of a phrase.
 */
export function paginate(text, lang, lines, most, widthOf) {
  const all = measured(text, lang, widthOf);
  const total = all.words.length;
  if (total === 0) return [];
  const inLine = (start, end) => all.width(start, end) <= most;
  const inPage = (start, end) => fewest(start, end, inLine) <= lines;
  const count = fewest(0, total, inPage);
  if (count === 1) return [text];
  const tight = divide(all, count, most * lines, inPage);
  const loose = count < total ? divide(all, count + 1, most * lines, inPage) : tight;
  return rowTexts(all, loose.cost + ONE_MORE < tight.cost ? loose : tight);
}
