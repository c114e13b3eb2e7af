// The words of a text, also in scripts without spaces. No DOM.

import { LANGUAGES } from "./languages.js";

const OPENING = /^[\p{Ps}\p{Pi}]+$/u; // belongs to the next word
const WORDLIKE = /[\p{L}\p{N}]/u;

const segmenters = new Map();

/** Where a language has spaces: between "words", "sentences", or "nowhere". */
function spacesOf(lang) {
  return LANGUAGES[lang.split("-")[0].toLowerCase()]?.spaces ?? "words";
}

/** The text in segments, `{segment, isWordLike}`, from the browser's dictionary of the language. */
function segmentsOf(text, lang) {
  if (!Intl.Segmenter) {
    // Firefox before 125: every letter with its combining marks counts as a word.
    return [...text.matchAll(/\P{M}\p{M}*/gu)].map(([segment]) => ({ segment, isWordLike: WORDLIKE.test(segment) }));
  }
  if (!segmenters.has(lang)) segmenters.set(lang, new Intl.Segmenter(lang, { granularity: "word" }));
  return [...segmenters.get(lang).segment(text)];
}

/** The separator of two sentences of a language in one line. */
export function gapOf(lang) {
  return spacesOf(lang) === "nowhere" ? "" : " ";
}

/** The number of words in a text. */
export function countWords(text, lang) {
  if (spacesOf(lang) === "words") return text.split(/\s+/).filter(Boolean).length;
  return segmentsOf(text, lang).filter(({ isWordLike }) => isWordLike).length;
}

/** A word in lower case, without punctuation. */
function bare({ text }) {
  return text.replace(/[^\p{L}\p{N}\p{M}]/gu, "").toLowerCase();
}

/** The part of `text` after the first words that it shares with `before`, ignoring punctuation. */
export function newIn(text, before, lang) {
  const known = piecesOf(before, lang).map(bare);
  let start = 0;
  for (const [at, piece] of piecesOf(text, lang).entries()) {
    if (bare(piece) !== known[at]) break;
    start = text.indexOf(piece.text, start) + piece.text.length;
  }
  return text.slice(start).trimStart();
}

/** The pieces between which a line may break, `{text, gap}`: word with punctuation, and space. */
export function piecesOf(text, lang) {
  if (spacesOf(lang) === "words") {
    return text.split(/\s+/).filter(Boolean).map((word) => ({ text: word, gap: " " }));
  }
  const pieces = [];
  let opening = "";
  for (const { segment, isWordLike } of segmentsOf(text, lang)) {
    const last = pieces[pieces.length - 1];
    if (segment.trim() === "") {
      if (last && opening === "") last.gap = " ";
    } else if (OPENING.test(segment)) {
      opening += segment;
    } else if (isWordLike || !last || last.gap !== "" || opening !== "") {
      pieces.push({ text: opening + segment, gap: "" });
      opening = "";
    } else {
      last.text += segment;
    }
  }
  if (opening !== "") pieces.push({ text: opening, gap: "" });
  return pieces;
}
