// The overlay's lines rolling upward, each for as long as it takes to read it. Between Rollup, which touches the
// document, and LineScroller, which only counts lines and milliseconds.

import { animateMove } from "../render/animate.js";
import { reconcile } from "../render/caption_view.js";
import { dwellMs } from "../render/pacing.js";
import { blocksOf, blockText } from "../shared/blocks.js";
import { LineMetrics } from "./line_metrics.js";

/** How many lines of a text have come in through the bottom of a window that is `height` lines high. */
export class LineScroller {
  #height;
  #movedMs = -Infinity;

  seen = 0;

  constructor(height) {
    this.#height = height;
  }

  /** LineMetrics that have left through the top. */
  get above() {
    return Math.max(0, this.seen - this.#height);
  }

  /**
   * Move on as far as it may in a text of `total` lines of `characters` each. Milliseconds until the next line may
   * come; Infinity: none waits.
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

  /** So many lines were taken away at the top of the text. */
  drop(count) {
    this.seen = Math.max(0, this.seen - count);
  }
}

/** The presenter of `mode=rollup`, in a `list` that is `height` lines high at `anchor` (0 top to 1 bottom). */
export class Rollup {
  #list;
  #lines;
  #height;
  #anchor;
  #views = new Map();
  #scroller;
  #gone = -1; // The highest id that has rolled out: what is edited there stays away.

  constructor({ list, height, anchor }) {
    this.#list = list;
    this.#lines = new LineMetrics(list);
    this.#height = height;
    this.#anchor = anchor;
    this.#scroller = new LineScroller(height);
  }

  /** Show what may be seen of `captions`, oldest first. Milliseconds until there is more to do. */
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

  /** Begin with the newest lines of `captions`. */
  jump(captions, lang) {
    this.#gone = -1;
    const blocks = this.#show(captions, lang);
    this.#scroller.seen = this.#lines.total();
    this.#prune(blocks, captions, lang);
  }

  /** Begin with an empty window. */
  reset() {
    this.#gone = -1;
    this.#scroller.seen = 0;
  }

  /** Have all blocks in the document that are not gone. */
  #show(captions, lang) {
    const blocks = blocksOf(captions.filter(({ id }) => id > this.#gone), lang);
    reconcile(this.#list, this.#views, blocks, lang);
    return blocks;
  }

  /** Forget the blocks that have rolled out as a whole, and put the rest where it belongs. */
  #prune(blocks, captions, lang) {
    const before = this.#gone;
    const elements = [...this.#list.children];
    for (const [at, block] of blocks.entries()) {
      const count = this.#lines.countIn(elements[at]);
      // In order: a block that is still growing may yet push back what is above it.
      if (count > this.#scroller.above || !block.final) break;
      this.#scroller.drop(count);
      this.#gone = block.captions.at(-1).id;
    }
    if (this.#gone !== before) this.#show(captions, lang);
    const free = this.#height - this.#scroller.seen;
    this.#lines.moveTo(free > 0 ? free * this.#anchor : free);
  }
}
