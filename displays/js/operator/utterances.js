// What was said, as the operator sees it: each caption with its record. No DOM.

import { DoubtScale } from "./doubt.js";
import { fill, wording } from "./wording.js";

/** The newest `limit` utterances of a session by id: `{id, caption, record, compare}` or nulls. */
export class Utterances {
  #entries = new Map();
  #lang = "";
  #session = "";
  #forgotten = new Set(); // ends of stretches of this session that are off the record
  #doubts = new DoubtScale();
  #limit;

  constructor(limit) {
    this.#limit = limit;
  }

  /** Handle `hello`: the changes since the last connection, or all captions. */
  onHello({ session, lang, resumed, captions }) {
    // The ids of another session belong to other captions.
    if (session !== this.#session) for (const kept of [this.#entries, this.#forgotten]) kept.clear();
    this.#session = session;
    this.#lang = lang;
    for (const entry of this.#entries.values()) entry.lang = lang;
    if (!resumed) this.#forgetCaptions();
    for (const caption of captions) this.caption(caption);
  }

  /** Handle `caption`; an older revision changes nothing. */
  caption(message) {
    const entry = this.#entry(message.id);
    // After a reconnect, `hello` may hold an older revision than this one.
    if (!entry.caption || entry.caption.seq < message.seq) entry.caption = message;
    this.#prune();
  }

  /** Handle `utterance`. */
  record(message) {
    const entry = this.#entry(message.id);
    // Only once: a mark must not vanish because later captions are worse.
    if (!entry.record) entry.isDoubtful = this.#doubts.marks(message);
    entry.record = message;
    this.#prune();
  }

  /** Handle `compare`: a second final, next to the one that is shown. */
  compare(message) {
    this.#entry(message.id).compare = message;
    this.#prune();
  }

  /** Whether this time range of the session was dropped before. */
  hasForgotten({ to_s: toS }) {
    return this.#forgotten.has(toS);
  }

  /** Handle `purged`: drop every entry that overlaps the time range. */
  forget({ from_s: fromS, to_s: toS }) {
    this.#forgotten.add(toS);
    for (const [id, { caption, record }] of this.#entries) {
      const { start_s: startS, end_s: endS } = record ?? caption ?? { start_s: fromS, end_s: toS };
      if (endS > fromS && startS < toS) this.#entries.delete(id);
    }
  }

  get(id) {
    return this.#entries.get(id);
  }

  /** The entries that have something to show, oldest first. */
  list() {
    return [...this.#entries.values()].filter((entry) => standing(entry) !== "nothing").sort((a, b) => a.id - b.id);
  }

  #entry(id) {
    if (!this.#entries.has(id)) this.#entries.set(id, { id, lang: this.#lang, caption: null, record: null, compare: null, isDoubtful: false });
    return this.#entries.get(id);
  }

  #forgetCaptions() {
    for (const [id, entry] of this.#entries) {
      entry.caption = null;
      if (!entry.record) this.#entries.delete(id);
    }
  }

  #prune() {
    // By id, not by the order of the map: the record of an old one may come last.
    while (this.#entries.size > this.#limit) this.#entries.delete(Math.min(...this.#entries.keys()));
  }
}

/**
 * "partial", "final" or "edited": on the displays; "hidden": hidden or forgotten by them;
 * "filtered": never sent to them; "nothing": an empty caption without other data.
 */
export function standing(entry) {
  const { caption, record } = entry;
  if (caption?.target.text) {
    if (!caption.final && !caption.corrected) return "partial"; // Corrected: final when translated.
    return caption.corrected || caption.target.engine === "operator" ? "edited" : "final";
  }
  if (caption?.corrected && caption.source.text) return "edited"; // It is being translated.
  if (record?.filtered) return "filtered";
  return finalOf(entry) || (record?.final && caption) ? "hidden" : "nothing";
}

/** The final of a record, null if the page shows another language: records are of the first one. */
function finalOf({ lang, record }) {
  return record?.final && (!lang || record.final.lang === lang) ? record.final : null;
}

/**
 * The translations of an utterance: the quick one, the final, one to compare, an operator's.
 * `by` is the engine or person, `label` a plain name, `workMs` the duration, `afterMs` the delay
 * since the last syllable, `alike` the agreement with the final, 0..1; the last three may be null.
 */
export function versions(entry) {
  const { caption, record, compare } = entry;
  const shown = caption?.target.text ? caption.target : null;
  const final = finalOf(entry);
  if (!final) return shown ? [{ ...version(shown, wording.first_try), onScreen: true }] : [];
  const { partial } = record;
  const found = [];
  const twoSpoke = partial && (partial.engine !== final.engine || partial.text !== final.text);
  if (twoSpoke) found.push(version(partial, wording.first_try, record.partial_ms, record.last_syllable_to_partial_ms));
  // If the quick translation became the final, use its time.
  found.push(version(final, wording.second_try, record.final_ms ?? record.partial_ms, record.last_syllable_to_final_ms));
  if (shown && standing(entry) !== "edited") found.at(-1).onScreen = true;
  if (compare) found.push({ ...version(compare, wording.second_try, compare.ms), alike: compare.agreement });
  if (standing(entry) === "edited") found.push({ ...version(shown, ""), onScreen: true });
  return found;
}

/** The command and fields that hide an utterance, or show it again. */
export function hiding(entry) {
  const { id, lang, caption } = entry;
  const revision = caption?.revision ?? 0;
  if (standing(entry) === "hidden") return ["show", { id, lang, revision }];
  // A partial changes several times a second: hide any revision of it.
  return ["hide", { id, lang, revision: caption?.final ? revision : 0 }];
}

/** The text that the displays show or showed before it was hidden: `{lang, text}`. */
export function shownText(entry) {
  const { caption, lang } = entry;
  return caption?.target.text ? caption.target : (finalOf(entry) ?? { lang, text: "" });
}

/** The best known source text: the operator's, else the recognizer's; `{lang, text}`. */
export function heardText({ caption, record }) {
  if (caption?.corrected && caption.source.text) return caption.source;
  return record ? { lang: record.lang, text: record.text } : caption.source;
}

/** The recognized text, before the dictionary; `{lang, text}`. */
export function recognized({ caption, record }) {
  return record ? { lang: record.lang, text: record.raw_text } : caption.source;
}

const NAMES = { marian: "Marian", gemma: "Gemma", openai: wording.by_server, exllamav2: "ExLlamaV2", operator: wording.kind_operator, source: wording.by_source };

function version({ engine, model, lang, text }, label, workMs = null, afterMs = null) {
  const name = NAMES[engine] ?? engine;
  return { by: model ? `${name} (${model})` : name, label, lang, text, workMs, afterMs, alike: null, onScreen: false };
}

const DOUBTS = {
  "avg-logprob": wording.doubt_words,
  "no-speech-prob": wording.doubt_nobody,
  "compression-ratio": wording.repeats,
  estimate: wording.doubt_estimate,
  agreement: wording.doubt_agreement,
  doubt: wording.doubt_other,
};
const FILTERED = {
  empty: wording.filtered_empty,
  "no-speech": wording.filtered_no_speech,
  repetition: wording.repeats,
  compression: wording.repeats,
  "stock-phrase": wording.filtered_stock,
  guess: wording.filtered_guess,
  "other-language": wording.filtered_language,
  "too-fast": wording.filtered_fast,
  "control-tokens": wording.filtered_tokens,
  "wrong-script": wording.filtered_script,
};

/** The result of comparing a final with its source, "" if nothing needs attention. */
function checkWords({ kind, outcome, said, found, written }) {
  if (outcome === "repaired") return fill(wording.check_repaired, { found, written });
  if (outcome !== "doubtful") return "";
  if (kind === "term") return fill(wording.check_term, { said, written });
  if (kind === "negation") return fill(wording.check_negation, { said });
  if (said === "") return fill(wording.check_not_said, { found });
  return fill(written ? wording.check_missing_as : wording.check_missing, { said, written });
}

/** Remarks on an utterance for the operator: `{text, strong}`. */
export function remarks(entry) {
  const { caption, record } = entry;
  // The program's findings are about a text that was replaced.
  const isCorrected = caption?.corrected && caption.source.text !== "";
  if (!isCorrected) return findings(entry);
  return record?.text ? [{ text: fill(wording.corrected, { text: record.text }), strong: false }] : [];
}

function findings(entry) {
  const { caption, record } = entry;
  const found = [];
  const put = (text, strong) => found.push({ text, strong });
  const now = standing(entry);
  if (now === "hidden") put(wording.not_on_screens, true);
  if (now === "filtered") put(fill(wording.not_shown, { why: FILTERED[record.filtered] ?? record.filtered }), true);
  if (caption?.verse && caption.target.text) put(fill(wording.verse_on_screens, caption.verse), false);
  if (Number.isInteger(record?.repeats)) put(`↻ ${fill(wording.number, { id: record.repeats })}`, false); // Said again by an interpreter.
  const isOwn = finalOf(entry) !== null;
  for (const check of (isOwn && record.checks) || []) {
    const text = checkWords(check);
    if (text) put(text, check.outcome === "doubtful");
  }
  if (entry.isDoubtful && isOwn && now !== "filtered") put(fill(wording.look_at, { why: reason(record.flags) }), false);
  return found;
}

/** The most serious of the flags, in plain words. */
function reason(flags) {
  const [measure] = (flags.find((flag) => flag.endsWith(":reject")) ?? flags.find((flag) => flag === "doubt:flag") ?? flags[0]).split(":");
  return DOUBTS[measure] ?? measure;
}
