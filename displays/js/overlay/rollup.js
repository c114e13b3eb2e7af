// The overlay's rolling lines: each stays for its reading time. Rollup changes the document;
// LineScroller only counts lines and milliseconds.

import { animateMove } from "../render/animate.js";
import { reconcile } from "../render/caption_view.js";
import { dwellMs } from "../render/pacing.js";
import { blocksOf, blockText } from "../shared/blocks.js";
import { LineMetrics } from "./line_metrics.js";

/** Counts the lines that have entered a window of `height` lines from the bottom. */
export class LineScroller {
  #height;
  #movedMs = -Infinity;

  seen = 0;

  constructor(height) {
    this.#height = height;
  }

  /** The number of lines that have left at the top. */
  get above() {
    return Math.max(0, this.seen - this.#height);
  }

  /**
   * Advance as far as possible in a text of `total` lines of `characters` each. Return milliseconds
   * until the next line may enter; Infinity: no line waits.
   */
  step(total, characters, nowMs) {
    this.seen = Math.min(this.seen, total);
    while (this.seen < total) {
      const full = this.seen >= this.#height;
      const dueMs = this.#movedMs + dwellMs(characters, total - this.seen);
      if (full && nowMs < dueMs) return dueMs - nowMs;
      this.seen = full ? this.seen + 1 : Math.min(total, this.#height);
      this.#movedMs = nowMs;
    }
    return Infinity;
  }

  /** Handle the removal of `count` lines at the top of the text. */
  drop(count) {
    this.seen = Math.max(0, this.seen - count);
  }
}

/** The presenter of `mode=rollup`: a `list` of `height` lines at `anchor` (0 top to 1 bottom). */
export class Rollup {
  #list;
  #lines;
  #height;
  #anchor;
  #views = new Map();
  #scroller;
  #gone = -1; // The highest id that has rolled out: later edits of it are not shown.

  constructor({ list, height, anchor }) {
    this.#list = list;
    this.#lines = new LineMetrics(list);
    this.#height = height;
    this.#anchor = anchor;
    this.#scroller = new LineScroller(height);
  }

  /** Show what is due of `captions`, oldest first. Return milliseconds until the next step. */
  advance(captions, lang, nowMs) {
    let waitMs = Infinity;
    animateMove(this.#list, () => {
      const blocks = this.#show(captions, lang);
      const total = this.#lines.total();
      const characters = blocks.reduce((sum, block) => sum + blockText(block, lang).length, 0);
      waitMs = this.#scroller.step(total, characters / Math.max(1, total), nowMs);
      this.#prune(blocks, captions, lang);
    });
    return waitMs;
  }

  /** Start with the newest lines of `captions`. */
  jump(captions, lang) {
    this.#gone = -1;
    const blocks = this.#show(captions, lang);
    this.#scroller.seen = this.#lines.total();
    this.#prune(blocks, captions, lang);
  }

  /** Start with an empty window. */
  reset() {
    this.#gone = -1;
    this.#scroller.seen = 0;
  }

  /** Put all blocks that are not gone into the document. */
  #show(captions, lang) {
    const blocks = blocksOf(captions.filter(({ id }) => id > this.#gone), lang);
    reconcile(this.#list, this.#views, blocks, lang);
    return blocks;
  }

  /** Drop blocks that have rolled out completely, and place the rest. */
  #prune(blocks, captions, lang) {
    const before = this.#gone;
    const elements = [...this.#list.children];
    for (const [at, block] of blocks.entries()) {
      const count = this.#lines.countIn(elements[at]);
      // In order: a growing block may still push back the text above it.
      if (count > this.#scroller.above || !block.final) break;
      this.#scroller.drop(count);
      this.#gone = block.captions.at(-1).id;
    }
    if (this.#gone !== before) this.#show(captions, lang);
    const free = this.#height - this.#scroller.seen;
    this.#lines.moveTo(free > 0 ? free * this.#anchor : free);
  }
}
