// Which captions an operator should look at: of each engine's the worst tenth, so that a mark means something. No document in here.

const FEWEST = 10; // Before so many there is no tenth: only what is hopeless is marked.
const NEWEST = 200;
const MINUTE_S = 60;

/** Compares each record with those before it that the same engine made. */
export class DoubtScale {
  #scores = new Map();

  /** Whether a record is to be marked. What was said once holds: a mark neither comes nor goes later. */
  marks({ final, flags, quality }) {
    if (!final || !quality || quality.score === null) return false;
    const earlier = this.#scores.get(final.engine) ?? [];
    const scores = [...earlier, quality.score].slice(-NEWEST);
    this.#scores.set(final.engine, scores);
    if (flags.includes("doubt:flag")) return true; // a judge of its own has compared it with what was said
    if (scores.length < FEWEST) return flags.some(isHopeless);
    const worse = scores.filter((score) => score < quality.score).length;
    return flags.length > 0 && worse < Math.floor(scores.length / 10);
  }
}

/** Whether a flag says that the caption is as likely wrong as right. */
export function isHopeless(flag) {
  return flag.endsWith(":reject");
}

/** Whether most captions of the last minute are hopeless: then it is the microphone or the room, and no single caption. */
export function isMinuteDoubtful(entries) {
  const records = entries.map(({ record }) => record).filter((record) => record?.final);
  const endS = Math.max(0, ...records.map((record) => record.end_s));
  const recent = records.filter((record) => record.end_s > endS - MINUTE_S);
  return recent.length >= 4 && recent.filter(({ flags }) => flags.some(isHopeless)).length > recent.length / 2;
}
