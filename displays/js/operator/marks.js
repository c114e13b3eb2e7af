// Splits a source text: pieces that the recognizer doubted, or the dictionary corrected, or plain.

import { splitAt } from "../render/caption_text.js";
import { fill, wording } from "./wording.js";

/** Below this probability a word is as likely wrong as right. */
export const DOUBTFUL = 0.5;

/**
 * `{text, kind, heard, note}` for each piece of a record's source, in order: "plain", "doubt" or
 * "fixed". `heard` is the recognizer's text; the joined texts are the record's `text`.
 */
export function pieces({ raw_text: raw, corrections, words }) {
  const marks = [...fixed(raw, corrections)];
  for (const mark of doubted(raw, words ?? [])) {
    if (!marks.some(({ from, to }) => mark.from < to && from < mark.to)) marks.push(mark);
  }
  marks.sort((a, b) => a.from - b.from);
  const found = [];
  let done = 0;
  const plain = (to) => {
    const text = raw.slice(done, to);
    if (text) found.push({ text, kind: "plain", heard: text, note: "" });
  };
  for (const { from, to, text, kind, note } of marks) {
    plain(from);
    found.push({ text, kind, heard: raw.slice(from, to), note });
    done = to;
  }
  plain(raw.length);
  return found;
}

function* fixed(raw, corrections) {
  for (const { start, found, replacement, rule } of corrections) {
    const from = splitAt(raw, start)[0].length; // the server counts code points
    const note = fill(wording.mark_fixed, { found, rule, replacement });
    yield { from, to: from + found.length, text: replacement, kind: "fixed", note };
  }
}

function* doubted(raw, words) {
  let done = 0;
  for (const { text: spoken, probability } of words) {
    const text = spoken.trim();
    const from = text ? raw.indexOf(text, done) : -1;
    if (from < 0) continue;
    done = from + text.length;
    if (probability >= DOUBTFUL) continue;
    yield { from, to: done, text, kind: "doubt", note: fill(wording.mark_doubt, { percent: Math.round(probability * 100) }) };
  }
}
