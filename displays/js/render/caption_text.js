// One caption's text in the document: its solid part and the rest, which is dimmed.

import { gapOf, piecesOf } from "../shared/words.js";

/** Split after `count` characters as the server counts them: code points, where JavaScript has UTF-16 units. */
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

/** Up to where `text` may stay solid, when `before` was on the screen with its first `solid` units solid. */
export function keptSolid(before, solid, text) {
  let same = 0;
  while (same < solid && before[same] === text[same]) same += 1;
  if (same === solid) return solid;
  // A word that has changed has changed as a whole.
  return text.slice(0, same).search(/\S*$/);
}

const ENDING = /^(\S+\s+\S+.*\s)(\S+ \S+)$/s;
const LONGEST_ENDING = 24;

/** Split off the last two words of a sentence, which stay on one line: a line of one word is hard to read. */
export function splitEnding(text, lang) {
  const tail = gapOf(lang) ? ENDING.exec(text)?.[2] : unspacedEnding(text, lang);
  return tail && tail.length <= LONGEST_ENDING ? [text.slice(0, -tail.length), tail] : [text, ""];
}

/** The last two words of a sentence of four or more whose script does not set them apart; "" of a shorter one. */
function unspacedEnding(text, lang) {
  const pieces = piecesOf(text, lang);
  const [one, two] = pieces.slice(-2);
  const tail = pieces.length >= 4 ? one.text + one.gap + two.text : "";
  return text.endsWith(tail) ? tail : "";
}

/** Change a text node only if it says something else: untouched text is neither laid out nor painted again. */
export function setText(node, text) {
  if (node.data !== text) node.data = text;
}

function span(className) {
  const element = document.createElement("span");
  element.className = className;
  element.append("");
  return element;
}

/** The nodes of one caption: a space before it where it follows another, its solid text with the ending, the rest. */
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
   * Show `text` in `lang`, not to change again if `final`. Its first `stable` code points are solid, and what was solid
   * before as long as it is the same. `follows`: another caption is before it.
   */
  update({ text, lang }, { final, stable, follows }) {
    const [certain] = final ? [text] : splitAt(text, stable);
    const kept = lang === this.#lang ? keptSolid(this.#text, this.#solid, text) : 0;
    this.#text = text;
    this.#lang = lang;
    this.#solid = Math.max(certain.length, kept);
    setText(this.#gap, follows ? gapOf(lang) : "");
    // Only a final's: the end of a growing text is a new one with every word.
    const [head, tail] = final ? splitEnding(text, lang) : [text.slice(0, this.#solid), ""];
    setText(this.#stable.firstChild, head);
    setText(this.#ending.firstChild, tail);
    setText(this.#rest.firstChild, text.slice(this.#solid));
  }
}
