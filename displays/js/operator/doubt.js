// Marks each engine's worst tenth of captions for review, so that a mark means something. No DOM.

const FEWEST = 10; // With fewer records there is no tenth: only hopeless ones are marked.
const NEWEST = 200;
const MINUTE_S = 60;

/** Compares each record with earlier records of the same engine. */
export class DoubtScale {
  #scores = new Map();

  /** Whether to mark a record. The decision is final: a mark does not come or go later. */
  marks({ final, flags, quality }) {
    if (!final || !quality || quality.score === null) return false;
    const earlier = this.#scores.get(final.engine) ?? [];
    const scores = [...earlier, quality.score].slice(-NEWEST);
    this.#scores.set(final.engine, scores);
    if (flags.includes("doubt:flag")) return true; // a separate judge compared it with the source
    if (scores.length < FEWEST) return flags.some(isHopeless);
    const worse = scores.filter((score) => score < quality.score).length;
    return flags.length > 0 && worse < Math.floor(scores.length / 10);
  }
}

/** Whether a flag says that the caption is as likely wrong as right. */
export function isHopeless(flag) {
  return flag.endsWith(":reject");
}

/** Whether most captions of the last minute are hopeless: check the microphone or the room. */
export function isMinuteDoubtful(entries) {
  const records = entries.map(({ record }) => record).filter((record) => record?.final);
  const endS = Math.max(0, ...records.map((record) => record.end_s));
  const recent = records.filter((record) => record.end_s > endS - MINUTE_S);
  return recent.length >= 4 && recent.filter(({ flags }) => flags.some(isHopeless)).length > recent.length / 2;
}
