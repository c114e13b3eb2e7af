// The overlay's captions taking turns: whole ones only, one at a time. One that is longer than the window is
// shown in parts. Each stays for as long as it takes to read it; those that wait shorten that.

import { reconcile } from "../render/caption_view.js";
import { dwellMs } from "../render/pacing.js";
import { blocksOf, blockText } from "../shared/blocks.js";
import { newIn } from "../shared/words.js";
import { LineMetrics } from "./line_metrics.js";

/** The presenter of `mode=blocks`, in a `list` that is `height` lines high at `anchor` (0 top to 1 bottom). */
export class Turns {
  #list;
  #lines;
  #height;
  #anchor;
  #views = new Map();
  #gone = -1; // The highest id that has had its turn: what is edited there stays away.
  #current = -1; // The id of the block that is shown, and its text.
  #text = "";
  #part = 0;
  #sinceMs = 0;

  constructor({ list, height, anchor }) {
    this.#list = list;
    this.#lines = new LineMetrics(list);
    this.#height = height;
    this.#anchor = anchor;
  }

  /** Show whose turn it is of `captions`, oldest first. Milliseconds until it may be another's; Infinity: none waits. */
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

  /** Begin with the newest of `captions`. */
  jump(captions, lang, nowMs) {
    this.#gone = -1;
    const blocks = this.#blocks(captions, lang);
    if (blocks.length > 1) this.#gone = blocks.at(-2).captions.at(-1).id;
    this.advance(captions, lang, nowMs);
  }

  /** Begin with an empty window. */
  reset() {
    this.#gone = -1;
  }

  #blocks(captions, lang) {
    return blocksOf(captions.filter(({ id, final }) => final && id > this.#gone), lang);
  }

  #take(block, lang, nowMs) {
    if (block === undefined) return;
    const text = blockText(block, lang);
    // One that says more now goes on where it is; one that says something else may begin its parts elsewhere.
    const goesOn = block.id === this.#current && newIn(this.#text, text, lang) === "";
    this.#text = text;
    if (goesOn) return;
    this.#current = block.id;
    this.#part = 0;
    this.#sinceMs = nowMs;
  }

  /** Put the part whose turn it is into the window. How many parts there are. */
  #place() {
    const total = this.#lines.total();
    const parts = Math.max(1, Math.ceil(total / this.#height));
    this.#part = Math.min(this.#part, parts - 1);
    const free = this.#height - total;
    this.#lines.moveTo(free > 0 ? free * this.#anchor : Math.max(free, -this.#part * this.#height));
    return parts;
  }
}
