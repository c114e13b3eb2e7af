// One caption's text in the document: its solid part, and the rest, which is dimmed.

import { gapOf, piecesOf } from "../shared/words.js";

/** Split after `count` characters as the server counts: code points, not UTF-16 units. */
export function splitAt(text, count) {
  let end = 0;
  let left = count;
  for (const character of text) {
    if (left <= 0) break;
    left -= 1;
    end += character.length;
  }
  return [text.slice(0, end), text.slice(end)];
}

/** The end of the solid part of `text`, if the first `solid` units of `before` were solid. */
export function keptSolid(before, solid, text) {
  let same = 0;
  while (same < solid && before[same] === text[same]) same += 1;
  if (same === solid) return solid;
  // A changed word counts as changed from its start.
  return text.slice(0, same).search(/\S*$/);
}

const ENDING = /^(\S+\s+\S+.*\s)(\S+ \S+)$/s;
const LONGEST_ENDING = 24;

/** Split off a sentence's last two words, to stay on one line: a one-word line is hard to read. */
export function splitEnding(text, lang) {
  const tail = gapOf(lang) ? ENDING.exec(text)?.[2] : unspacedEnding(text, lang);
  return tail && tail.length <= LONGEST_ENDING ? [text.slice(0, -tail.length), tail] : [text, ""];
}

/** The last two words of an unspaced sentence of four or more words; "" for a shorter one. */
function unspacedEnding(text, lang) {
  const pieces = piecesOf(text, lang);
  const [one, two] = pieces.slice(-2);
  const tail = pieces.length >= 4 ? one.text + one.gap + two.text : "";
  return text.endsWith(tail) ? tail : "";
}

/** Change a text node only if its text differs, to avoid layout and paint of equal text. */
export function setText(node, text) {
  if (node.data !== text) node.data = text;
}

function span(className) {
  const element = document.createElement("span");
  element.className = className;
  element.append("");
  return element;
}

/** The nodes of a caption: a space if it follows another, its solid text and ending, the rest. */
export class CaptionText {
  #gap = document.createTextNode("");
  #stable = span("stable");
  #ending = span("ending");
  #rest = span("rest");
  #text = "";
  #lang = "";
  #solid = 0;

  nodes = [this.#gap, this.#stable, this.#rest];

  constructor() {
    this.#stable.append(this.#ending);
  }

  /**
   * Show `text` in `lang`; a `final` does not change again. Its first `stable` code points are
   * solid, and unchanged text that was solid before. `follows`: another caption is before it.
   */
  update({ text, lang }, { final, stable, follows }) {
    const [certain] = final ? [text] : splitAt(text, stable);
    const kept = lang === this.#lang ? keptSolid(this.#text, this.#solid, text) : 0;
    this.#text = text;
    this.#lang = lang;
    this.#solid = Math.max(certain.length, kept);
    setText(this.#gap, follows ? gapOf(lang) : "");
    // Only in a final: the ending of a growing text changes with every word.
    const [head, tail] = final ? splitEnding(text, lang) : [text.slice(0, this.#solid), ""];
    setText(this.#stable.firstChild, head);
    setText(this.#ending.firstChild, tail);
    setText(this.#rest.firstChild, text.slice(this.#solid));
  }
}
