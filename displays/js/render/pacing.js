// How long a caption, block or page stays on the projector. No DOM; the clock is given, in ms.

const READ_MS_PER_CHARACTER = 55; // 18 characters a second: fast, but usual for subtitles
const SHORTEST_MS = 1000;
const LONGEST_MS = 7000; // the usual limit of a subtitle: anybody slower is not reading
const HURRIED_MS = 500; // the minimum for every caption, even far behind
const TAIL = 5;
const PATIENCE_MS = 10_000; // the limit for a partial on screen that waits for its final

/** Milliseconds on the screen for `unread` characters while `waiting` captions need the space. */
export function dwellMs(unread, waiting) {
  const dwell = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, unread * READ_MS_PER_CHARACTER));
  return Math.max(HURRIED_MS, dwell / Math.max(1, waiting));
}

function commonPrefix(a, b) {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

/**
 * Captions on the screen, and captions that wait for room. One leaves only to make room, and only
 * after its reading time. Waiting captions shorten that time: lag shrinks, and no final is skipped.
 *
 * `fits(captions)` says if they fit on the screen together; `textOf(caption)` is the text to read.
 */
export class Pacer {
  #fits;
  #textOf;
  #shown = []; // { caption, sinceMs, unread }: `unread` characters were left at sinceMs.
  #waiting = [];
  #gone = -1; // The highest id that has left the screen: later edits of it are not shown.
  #left = []; // The last captions that left to make room.

  constructor({ fits, textOf }) {
    this.#fits = fits;
    this.#textOf = textOf;
  }

  /** The captions to show, oldest first. */
  get shown() {
    return this.#shown.map((entry) => entry.caption);
  }

  /** The highest id that has left the screen. */
  get gone() {
    return this.#gone;
  }

  /** The last `count` captions that left to make room, oldest first. */
  tail(count) {
    return count > 0 ? this.#left.slice(-count) : [];
  }

  /** Forget everything and show the newest of `captions` that fit. */
  jump(captions, nowMs) {
    let first = captions.length;
    while (first > 0 && (first === captions.length || this.#fits(captions.slice(first - 1)))) first -= 1;
    this.#shown = captions.slice(first).map((caption) => this.#read(caption, nowMs));
    this.#waiting = [];
    this.#left = captions.slice(Math.max(0, first - TAIL), first);
    this.#gone = first > 0 ? (captions[first - 1].lastId ?? captions[first - 1].id) : -1;
  }

  /** Handle a new caption, or a new revision. */
  offer(caption) {
    if (caption.id <= this.#gone) {
      this.#left = this.#left.map((each) => (each.id === caption.id ? caption : each));
      return;
    }
    this.#waiting = this.#waiting.filter((each) => each.id !== caption.id);
    this.#waiting.push(caption);
    this.#waiting.sort((a, b) => a.id - b.id);
  }

  /** Remove a hidden caption at once, from the screen or from the queue. */
  remove(id) {
    this.#shown = this.#shown.filter((entry) => entry.caption.id !== id);
    this.#waiting = this.#waiting.filter((caption) => caption.id !== id);
    this.#left = this.#left.filter((caption) => caption.id !== id);
  }

  /** After a silence: empty the screen. */
  clear() {
    this.#leave(this.#shown.length);
    this.#left = [];
  }

  /** Admit waiting captions. Return milliseconds until the next try; Infinity if none waits. */
  step(nowMs) {
    while (this.#waiting.length > 0) {
      const next = this.#waiting[0];
      const at = this.#shown.findIndex((entry) => entry.caption.id >= next.id);
      const known = this.#shown[at]?.caption.id === next.id ? this.#shown[at] : null;
      const entry = this.#read(next, nowMs, known);
      const place = at < 0 ? this.#shown.length : at;
      const wanted = [...this.#shown]; // Not toSpliced: the browser in an older OBS lacks it.
      wanted.splice(place, known ? 1 : 0, entry);
      let leaving = 0;
      while (leaving < place && !this.#fits(wanted.slice(leaving).map((e) => e.caption))) leaving += 1;
      const waitMs = Math.max(0, ...wanted.slice(0, leaving).map((e) => this.#dueMs(e) - nowMs));
      if (waitMs > 0) return waitMs;
      this.#shown = wanted;
      this.#leave(leaving);
      this.#waiting.shift();
    }
    return Infinity;
  }

  #leave(count) {
    for (const { caption } of this.#shown.splice(0, count)) {
      this.#gone = Math.max(this.#gone, caption.lastId ?? caption.id);
      this.#left = [...this.#left, caption].slice(-TAIL);
    }
  }

  /** The entry for `caption` now; if `known` showed it before, only the changed text is unread. */
  #read(caption, nowMs, known = null) {
    const text = this.#textOf(caption);
    if (!known) return { caption, sinceMs: nowMs, unread: text.length };
    const before = this.#textOf(known.caption);
    if (before === text) return { ...known, caption };
    const left = Math.max(0, known.unread - (nowMs - known.sinceMs) / READ_MS_PER_CHARACTER);
    return { caption, sinceMs: nowMs, unread: left + text.length - commonPrefix(before, text) };
  }

  #dueMs({ caption, sinceMs, unread }) {
    return sinceMs + (caption.final ? dwellMs(unread, this.#waiting.length) : PATIENCE_MS);
  }
}
