// The overlay's captions in turn: finals, one at a time. One longer than the window is shown in
// parts. Each stays for its reading time; waiting captions shorten it.

import { reconcile } from "../render/caption_view.js";
import { dwellMs } from "../render/pacing.js";
import { blocksOf, blockText } from "../shared/blocks.js";
import { newIn } from "../shared/words.js";
import { LineMetrics } from "./line_metrics.js";

/** The presenter of `mode=blocks`: a `list` of `height` lines at `anchor` (0 top to 1 bottom). */
export class Turns {
  #list;
  #lines;
  #height;
  #anchor;
  #views = new Map();
  #gone = -1; // The highest id that has had its turn: later edits of it are not shown.
  #current = -1; // The id of the current block; #text is its text.
  #text = "";
  #part = 0;
  #sinceMs = 0;

  constructor({ list, height, anchor }) {
    this.#list = list;
    this.#lines = new LineMetrics(list);
    this.#height = height;
    this.#anchor = anchor;
  }

  /** Show the current one of `captions`. Return ms until the next; Infinity: none waits. */
  advance(captions, lang, nowMs) {
    for (;;) {
      const blocks = this.#blocks(captions, lang);
      this.#take(blocks[0], lang, nowMs);
      reconcile(this.#list, this.#views, blocks.slice(0, 1), lang);
      if (blocks.length === 0) return Infinity;
      const parts = this.#place();
      const waiting = parts - 1 - this.#part + blocks.length - 1;
      if (waiting === 0) return Infinity;
      const dueMs = this.#sinceMs + dwellMs(blockText(blocks[0], lang).length / parts, waiting);
      if (nowMs < dueMs) return dueMs - nowMs;
      this.#sinceMs = nowMs;
      if (this.#part < parts - 1) this.#part += 1;
      else this.#gone = blocks[0].captions.at(-1).id;
    }
  }

  /** Start with the newest of `captions`. */
  jump(captions, lang, nowMs) {
    this.#gone = -1;
    const blocks = this.#blocks(captions, lang);
    if (blocks.length > 1) this.#gone = blocks.at(-2).captions.at(-1).id;
    this.advance(captions, lang, nowMs);
  }

  /** Start with an empty window. */
  reset() {
    this.#gone = -1;
  }

  #blocks(captions, lang) {
    return blocksOf(captions.filter(({ id, final }) => final && id > this.#gone), lang);
  }

  #take(block, lang, nowMs) {
    if (block === undefined) return;
    const text = blockText(block, lang);
    // A block that only got longer continues; a block with other text starts again at part 0.
    const goesOn = block.id === this.#current && newIn(this.#text, text, lang) === "";
    this.#text = text;
    if (goesOn) return;
    this.#current = block.id;
    this.#part = 0;
    this.#sinceMs = nowMs;
  }

  /** Move the current part into the window. Return the number of parts. */
  #place() {
    const total = this.#lines.total();
    const parts = Math.max(1, Math.ceil(total / this.#height));
    this.#part = Math.min(this.#part, parts - 1);
    const free = this.#height - total;
    this.#lines.moveTo(free > 0 ? free * this.#anchor : Math.max(free, -this.#part * this.#height));
    return parts;
  }
}
