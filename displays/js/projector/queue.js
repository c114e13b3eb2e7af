// What the projector is to show of the captions, in what pieces, and which of them are new.

import { blocksOf, isShort } from "../shared/blocks.js";
import { committed } from "./committed.js";
import { pagesOf } from "./pages.js";

const HOLD_MS = 2500; // So long a word or two wait for the sentence that they could join.

/**
 * Blocks as they grow, what stands of them or (`tail`) all of it, or (`blocks`) whole sentences only, long ones in pages
 * (`paged`) of so many `lines`. `measure()` gives the width of a line and a way to measure text.
 */
export class Queue {
  #settings;
  #measure;
  #offered = new Map(); // id to seq of what the pacer has got
  #heldSince = new Map(); // id of a short block to when it came
  #folded = new Map(); // id of a block to its pages and what they were made of: to fold takes its time

  constructor(settings, measure) {
    this.#settings = settings;
    this.#measure = measure;
  }

  /** All there is to show of `captions` to a reader of `lang`, oldest first; taken as offered. */
  take(captions, lang) {
    const all = this.#items(captions, lang);
    this.#offered = new Map(all.map((item) => [item.id, item.seq]));
    return all;
  }

  /** Give the pacer what is new. Milliseconds until there may be more, without another message. */
  offer(pacer, captions, lang, nowMs) {
    const all = this.#items(captions, lang, pacer.gone);
    const before = this.#offered;
    let waitMs = Infinity;
    this.#offered = new Map();
    for (const item of all) {
      const newest = item === all[all.length - 1] && !before.has(item.id);
      const heldMs = newest ? this.#holdMs(item, lang, nowMs) : 0;
      if (heldMs > 0) {
        waitMs = heldMs;
        continue;
      }
      this.#offered.set(item.id, item.seq);
      if (before.get(item.id) !== item.seq) pacer.offer(item);
    }
    const oldest = all.length > 0 ? all[0].id : Infinity;
    for (const id of before.keys()) {
      // Gone from the middle: hidden, or fewer pages than before. What is older than all was only forgotten, unless its
      // caption is known: a page's id is that of its caption and a fraction.
      if (!this.#offered.has(id) && (id > oldest || captions.get(Math.floor(id)))) pacer.remove(id);
    }
    this.#heldSince = new Map([...this.#heldSince].filter(([id]) => !this.#offered.has(id)));
    return waitMs;
  }

  /** Lines have another width: fold anew. */
  refold() {
    this.#folded.clear();
  }

  /** `gone`: the highest id that has left the screen. */
  #items(captions, lang, gone = -1) {
    if (!this.#settings.blocks) {
      return blocksOf(this.#settings.tail ? captions.visible(lang) : committed(captions, lang), lang);
    }
    const finals = blocksOf(captions.standing(lang), lang).filter((block) => block.final);
    if (!this.#settings.paged) return finals;
    const known = this.#folded;
    this.#folded = new Map();
    for (const block of finals) {
      const key = `${block.lastId} ${block.seq} ${lang}`;
      const before = known.get(block.id);
      const pages = before?.key === key ? before.pages : this.#fold(block, lang, before?.pages, gone);
      this.#folded.set(block.id, { key, pages });
    }
    return [...this.#folded.values()].flatMap(({ pages }) => pages);
  }

  #fold(block, lang, before, gone) {
    return pagesOf(block, lang, { ...this.#measure(), lines: this.#settings.lines, before, gone });
  }

  /** Milliseconds that `item` still has to wait for another to join it. */
  #holdMs(item, lang, nowMs) {
    if (!this.#settings.blocks || !isShort(item, lang)) return 0;
    if (!this.#heldSince.has(item.id)) this.#heldSince.set(item.id, nowMs);
    return Math.max(0, this.#heldSince.get(item.id) + HOLD_MS - nowMs);
  }
}
