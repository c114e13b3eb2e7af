// The input level: a bar, the recent peak, and a warning if the input is too loud or silent.

import { fill, isolate, wording } from "./wording.js";

const FLOOR_DBFS = -60;
// As in `stark-translate check`: below the first is silence, below the second is quiet.
const SILENT_DBFS = -50;
const QUIET_DBFS = -40;
const HOLD_MS = 2000;
const FALL_DB_PER_S = 20;
const CLIPPED_MS = 3000;
const SILENT_MS = 10_000;
const STALE_MS = 2000;

/** Evaluates the levels so far. Times are milliseconds of any monotonic clock. */
export class Level {
  #peak = FLOOR_DBFS;
  #peakAt = 0;
  #clippedAt = -Infinity;
  #heardAt = null;

  dbfs = FLOOR_DBFS;

  put({ dbfs, clipped }, nowMs) {
    const held = this.peak(nowMs);
    this.dbfs = dbfs;
    if (dbfs >= held) [this.#peak, this.#peakAt] = [dbfs, nowMs];
    if (clipped) this.#clippedAt = nowMs;
    if (dbfs > SILENT_DBFS || this.#heardAt === null) this.#heardAt = nowMs;
  }

  /** Reset the silence: while paused, nobody listens. */
  rest() {
    this.#heardAt = null;
  }

  /** The peak level, held for two seconds, then falling. */
  peak(nowMs) {
    const fallen = Math.max(0, nowMs - this.#peakAt - HOLD_MS) / 1000;
    return Math.max(FLOOR_DBFS, this.#peak - fallen * FALL_DB_PER_S);
  }

  /** `{tone, words}`: "bad" is too loud, "wait" is quiet or a long silence, else "good". */
  verdict(nowMs) {
    if (nowMs - this.#clippedAt < CLIPPED_MS) return { tone: "bad", words: wording.level_loud };
    const silentMs = this.#heardAt === null ? 0 : nowMs - this.#heardAt;
    if (silentMs >= SILENT_MS) {
      return { tone: "wait", words: fill(wording.level_silent, { time: duration(silentMs) }) };
    }
    const quiet = this.peak(nowMs) < QUIET_DBFS && this.dbfs > SILENT_DBFS;
    return quiet ? { tone: "wait", words: wording.level_quiet } : { tone: "good", words: wording.level_good };
  }
}

function duration(ms) {
  const s = Math.floor(ms / 1000);
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min`;
}

/** Draws the level in the elements `level`, `meter`, `level-words` and `level-number`. */
export class Meter {
  #level = new Level();
  #receivedMs = -Infinity;
  #box = document.getElementById("level");
  #meter = document.getElementById("meter");
  #words = document.getElementById("level-words");
  #number = document.getElementById("level-number");

  constructor() {
    // Also on a timer: missing levels must be visible.
    setInterval(() => this.#draw(), 250);
  }

  put(message) {
    this.#receivedMs = performance.now();
    this.#level.put(message, this.#receivedMs);
    this.#box.hidden = false;
    this.#draw();
  }

  rest() {
    this.#level.rest();
  }

  #draw() {
    const nowMs = performance.now();
    const stale = nowMs - this.#receivedMs > STALE_MS;
    if (stale) this.#level.rest();
    const { tone, words } = stale ? { tone: "off", words: wording.level_none } : this.#level.verdict(nowMs);
    const dbfs = stale ? FLOOR_DBFS : Math.round(this.#level.dbfs);
    this.#box.dataset.tone = tone;
    if (this.#words.textContent !== words) this.#words.textContent = words;
    this.#number.textContent = stale ? "" : isolate(`${dbfs} dBFS`);
    this.#meter.setAttribute("aria-valuenow", Math.min(0, Math.max(FLOOR_DBFS, dbfs)));
    this.#meter.setAttribute("aria-valuetext", words);
    this.#meter.style.setProperty("--level", share(dbfs));
    this.#meter.style.setProperty("--peak", share(stale ? FLOOR_DBFS : this.#level.peak(nowMs)));
  }
}

function share(dbfs) {
  return Math.min(1, Math.max(0, 1 - dbfs / FLOOR_DBFS)).toFixed(3);
}
