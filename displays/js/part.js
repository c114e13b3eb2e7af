// One caption's text in the document: its solid part and the rest, which is dimmed.

/** Split after `count` characters as the server counts them: code points, where JavaScript has UTF-16 units. */
export function splitAt(text, count) {
  let end = 0;
  for (const character of text) {
    if (count-- <= 0) break;
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

/** Change a text node only if it says something else: untouched text is neither laid out nor painted again. */
export function write(node, text) {
  if (node.data !== text) node.data = text;
}

function span(className) {
  const element = document.createElement("span");
  element.className = className;
  element.append("");
  return element;
}

/** The nodes of one caption: a space before it where it follows another, its solid text, the rest. */
export class Part {
  #gap = document.createTextNode("");
  #stable = span("stable");
  #rest = span("rest");
  #text = "";
  #lang = "";
  #solid = 0;

  nodes = [this.#gap, this.#stable, this.#rest];

  /** Show `text` in `lang`. Its first `stable` code points are solid, and what was solid before as long as it is the same. */
  update({ text, lang }, stable, follows) {
    const [certain] = splitAt(text, stable);
    const kept = lang === this.#lang ? keptSolid(this.#text, this.#solid, text) : 0;
    this.#text = text;
    this.#lang = lang;
    this.#solid = Math.max(certain.length, kept);
    write(this.#gap, follows ? " " : "");
    write(this.#stable.firstChild, text.slice(0, this.#solid));
    write(this.#rest.firstChild, text.slice(this.#solid));
  }
}
