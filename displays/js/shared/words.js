// The words of a text, also where the script does not set them apart. No document in here.

import { LANGUAGES } from "./languages.js";

const OPENING = /^[\p{Ps}\p{Pi}]+$/u; // belongs to the word after it
const WORDLIKE = /[\p{L}\p{N}]/u;

const segmenters = new Map();

/** Where spaces stand in a language: between "words", "sentences", or "nowhere". */
function spacesOf(lang) {
  return LANGUAGES[lang.split("-")[0].toLowerCase()]?.spaces ?? "words";
}

/** The text in segments, `{segment, isWordLike}`, as the browser's dictionary of the language has them. */
function segmentsOf(text, lang) {
  if (!Intl.Segmenter) {
    // Firefox before 125: every letter counts as a word, with what is written above and below it.
    return [...text.matchAll(/\P{M}\p{M}*/gu)].map(([segment]) => ({ segment, isWordLike: WORDLIKE.test(segment) }));
  }
  if (!segmenters.has(lang)) segmenters.set(lang, new Intl.Segmenter(lang, { granularity: "word" }));
  return [...segmenters.get(lang).segment(text)];
}

/** What stands between two sentences of a language in one line. */
export function gapOf(lang) {
  return spacesOf(lang) === "nowhere" ? "" : " ";
}

/** How many words a text has. */
export function countWords(text, lang) {
  if (spacesOf(lang) === "words") return text.split(/\s+/).filter(Boolean).length;
  return segmentsOf(text, lang).filter(({ isWordLike }) => isWordLike).length;
}

/** A word without its signs and capitals. */
function bare({ text }) {
  return text.replace(/[^\p{L}\p{N}\p{M}]/gu, "").toLowerCase();
}

/** What `text` says behind the words that it has in common with `before` at their beginning, whatever their signs. */
export function newIn(text, before, lang) {
  const known = piecesOf(before, lang).map(bare);
  let start = 0;
  for (const [at, piece] of piecesOf(text, lang).entries()) {
    if (bare(piece) !== known[at]) break;
    start = text.indexOf(piece.text, start) + piece.text.length;
  }
  return text.slice(start).trimStart();
}

/** The pieces of a text between which a line may end, `{text, gap}`: a word with its punctuation, and the space after it. */
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
