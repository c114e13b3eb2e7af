// What the projector shows of the captions, in which pieces, and which pieces are new.

import { blocksOf, isShort } from "../shared/blocks.js";
import { committed } from "./committed.js";
import { pagesOf } from "./pages.js";

const HOLD_MS = 2500; // How long a word or two wait for a sentence to join.

/** The blocks of captions; none joins one that has left the screen: it would not be shown. */
function apart(captions, lang, gone) {
  const left = captions.filter(({ id }) => id <= gone);
  return [...blocksOf(left, lang), ...blocksOf(captions.slice(left.length), lang)];
}

/**
 * Growing blocks (committed prefix, or with `tail` all), or (`blocks`) whole sentences; long ones
 * are in pages (`paged`) of `lines`. `measure()` gives the line width and a text measure.
 */
export class Queue {
  #settings;
  #measure;
  #offered = new Map(); // id to seq of the items that the pacer has
  #heldSince = new Map(); // id of a short block to its arrival time
  #folded = new Map(); // block id to its pages and their key: folding is slow

  constructor(settings, measure) {
    this.#settings = settings;
    this.#measure = measure;
  }

  /** All items to show of `captions` to a reader of `lang`, oldest first; count them as offered. */
  take(captions, lang) {
    this.#folded.clear(); // Another service may have the same ids.
    const all = this.#items(captions, lang);
    this.#offered = new Map(all.map((item) => [item.id, item.seq]));
    return all;
  }

  /** Give the pacer the new items. Return milliseconds until a held item is due. */
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
      // Missing in the middle: hidden, or fewer pages than before. What is older than all was only
      // forgotten, unless its caption is known: a page id is its caption's id plus a fraction.
      if (!this.#offered.has(id) && (id > oldest || captions.get(Math.floor(id)))) pacer.remove(id);
    }
    this.#heldSince = new Map([...this.#heldSince].filter(([id]) => !this.#offered.has(id)));
    return waitMs;
  }

  /** The line width has changed: fold again. */
  refold() {
    this.#folded.clear();
  }

  /** `gone` is the highest id that has left the screen. */
  #items(captions, lang, gone = -1) {
    const { blocks, paged, tail } = this.#settings;
    if (!blocks) return apart(tail ? captions.visible(lang) : committed(captions, lang), lang, gone);
    const finals = apart(captions.standing(lang), lang, paged ? -1 : gone).filter((block) => block.final);
    if (!paged) return finals;
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

  /** Milliseconds that `item` must still wait for another to join it. */
  #holdMs(item, lang, nowMs) {
    if (!this.#settings.blocks || !isShort(item, lang)) return 0;
    if (!this.#heldSince.has(item.id)) this.#heldSince.set(item.id, nowMs);
    return Math.max(0, this.#heldSince.get(item.id) + HOLD_MS - nowMs);
  }
}
