// Where a line of a whole sentence may end: lines of about the same length, phrases kept together, no word left alone.
// No document in here. The optimum over all breaks, as Knuth and Plass find it for paragraphs (1981).

// Words that lean on the next one. To add a language, add a line; the key is its language tag.
const LEANING = {
  en: "a an and are as at but by for from has have he her his i if in is it its my nor not of on or our she so than that the their they this to was we were when which who with you your",
  es: "a al aunque como con cuando de del desde donde e el ella en entre era es esta este fue ha han hasta he la las le les lo los me mi mis ni no nos nuestra nuestro o para pero por porque que quien se según si sin sobre son su sus te tu tus u un una y ya yo",
};
const SENTENCE_END = /[.!?…]["'”’»)]*$/;
const CLAUSE_END = /[,;:—–)]["'”’»)]*$/;

// What a break costs, in units of the square of a line's whole width.
const AFTER_CLAUSE = 0.01;
const AFTER_WORD = 0.06;
const AFTER_LEANING = 0.3;
const ONE_WORD = 0.6;

const leaning = new Map(Object.entries(LEANING).map(([lang, words]) => [lang, new Set(words.split(" "))]));

function breakCost(word, lang) {
  if (SENTENCE_END.test(word)) return 0;
  if (CLAUSE_END.test(word)) return AFTER_CLAUSE;
  const bare = word.toLowerCase().replace(/^[^\p{L}]+/u, "");
  return leaning.get(lang.split("-")[0])?.has(bare) ? AFTER_LEANING : AFTER_WORD;
}

/** How many lines `widths` fill when each takes as many words as it can. */
function fewest(widths, space, most) {
  let lines = 1;
  let used = -space;
  for (const width of widths) {
    if (used + space + width > most && used >= 0) {
      lines += 1;
      used = -space;
    }
    used += space + width;
  }
  return lines;
}

/**
 * Split `text` of `lang` into as few lines as it needs, none wider than `most` unless a single word is.
 * `widthOf(text)` measures in the unit of `most`.
 */
export function fold(text, lang, most, widthOf) {
  const words = text.split(/\s+/).filter(Boolean);
  const widths = words.map(widthOf);
  const space = widthOf(" ");
  const count = fewest(widths, space, most);
  if (count === 1) return words.length ? [words.join(" ")] : [];
  const ends = [0]; // ends[i]: the width of the first i words, each with its space.
  for (const width of widths) ends.push(ends[ends.length - 1] + width + space);
  const ideal = ends[words.length] / count;

  // best[i]: the cheapest way to put the first i words into so many lines, and where its last line begins.
  let best = [{ cost: 0, starts: [] }];
  for (let line = 1; line <= count; line += 1) {
    const next = [];
    for (let end = line; end <= words.length; end += 1) {
      for (let start = end - 1; start >= line - 1; start -= 1) {
        const width = ends[end] - ends[start] - space;
        if (width > most && end - start > 1) break;
        if (!best[start]) continue;
        const uneven = ((width - ideal) / most) ** 2;
        const alone = end - start === 1 ? ONE_WORD : 0;
        const broken = end < words.length ? breakCost(words[end - 1], lang) : 0;
        const cost = best[start].cost + uneven + alone + broken;
        if (!next[end] || cost < next[end].cost) next[end] = { cost, starts: [...best[start].starts, start] };
      }
    }
    best = next;
  }
  const { starts } = best[words.length];
  return starts.map((start, at) => words.slice(start, starts[at + 1]).join(" "));
}
