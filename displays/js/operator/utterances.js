// What was said, as an operator sees it: each caption together with its record. No document in here.

import { DoubtScale } from "./doubt.js";
import { fill, wording } from "./wording.js";

/** The newest `limit` utterances of a session, by id: `{id, caption, record, compare}`, of which each may be null. */
export class Utterances {
  #entries = new Map();
  #lang = "";
  #session = "";
  #doubts = new DoubtScale();
  #limit;

  constructor(limit) {
    this.#limit = limit;
  }

  /** Take a `hello`: what changed since we left, or all captions there are. */
  onHello({ session, lang, resumed, captions }) {
    // The ids of another session are of other captions.
    if (session !== this.#session) this.#entries.clear();
    this.#session = session;
    this.#lang = lang;
    for (const entry of this.#entries.values()) entry.lang = lang;
    if (!resumed) this.#forgetCaptions();
    for (const caption of captions) this.caption(caption);
  }

  /** Take a `caption`; an older revision than the one we have changes nothing. */
  caption(message) {
    const entry = this.#entry(message.id);
    // A `hello` after a lost line may come behind a caption that is newer than it.
    if (!entry.caption || entry.caption.seq < message.seq) entry.caption = message;
    this.#prune();
  }

  /** Take an `utterance`. */
  record(message) {
    const entry = this.#entry(message.id);
    // Once: what was marked must not lose its mark because later captions are worse.
    if (!entry.record) entry.isDoubtful = this.#doubts.marks(message);
    entry.record = message;
    this.#prune();
  }

  /** Take a `compare`: a second final, beside the one that is shown. */
  compare(message) {
    this.#entry(message.id).compare = message;
    this.#prune();
  }

  /** Take a `purged`: have nothing any more of what has a part between two times. */
  forget({ from_s: fromS, to_s: toS }) {
    for (const [id, { caption, record }] of this.#entries) {
      const { start_s: startS, end_s: endS } = record ?? caption ?? { start_s: fromS, end_s: toS };
      if (endS > fromS && startS < toS) this.#entries.delete(id);
    }
  }

  get(id) {
    return this.#entries.get(id);
  }

  /** Those that have something to show, oldest first. */
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
    // By the id and not by the map's order: the record of an old one may come last.
    while (this.#entries.size > this.#limit) this.#entries.delete(Math.min(...this.#entries.keys()));
  }
}

/**
 * "partial", "final" or "edited" on the displays; "hidden" or forgotten by them; "filtered": never meant for
 * them; "nothing": an empty caption of which nothing is known.
 */
export function standing(entry) {
  const { caption, record } = entry;
  if (caption?.target.text) {
    if (!caption.final && !caption.corrected) return "partial"; // What is corrected is final when it is translated.
    return caption.corrected || caption.target.engine === "operator" ? "edited" : "final";
  }
  if (caption?.corrected && caption.source.text) return "edited"; // Its translation is on its way.
  if (record?.filtered) return "filtered";
  return finalOf(entry) || (record?.final && caption) ? "hidden" : "nothing";
}

/** The final that a record tells of, null where the page shows the captions of another language: records are of the first one. */
function finalOf({ lang, record }) {
  return record?.final && (!lang || record.final.lang === lang) ? record.final : null;
}

/**
 * The translations of an utterance, each `{by, label, lang, text, workMs, afterMs, alike, onScreen}`: the quick translator's, the
 * final one's, one to compare with, an operator's. `by` is who made it, `label` what it is in plain words. `workMs`: how long it took; `afterMs`: from the last syllable
 * until it was there; `alike`: how far it agrees with the final, 0..1. All three may be null.
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
  // Where the quick translation became the final, its time is the final's.
  found.push(version(final, wording.second_try, record.final_ms ?? record.partial_ms, record.last_syllable_to_final_ms));
  if (shown && standing(entry) !== "edited") found.at(-1).onScreen = true;
  if (compare) found.push({ ...version(compare, wording.second_try, compare.ms), alike: compare.agreement });
  if (standing(entry) === "edited") found.push({ ...version(shown, ""), onScreen: true });
  return found;
}

/** The command that hides an utterance, or shows it again, and its fields. */
export function hiding(entry) {
  const { id, lang, caption } = entry;
  const revision = caption?.revision ?? 0;
  if (standing(entry) === "hidden") return ["show", { id, lang, revision }];
  // What is still being said changes several times a second, and goes whatever it has become.
  return ["hide", { id, lang, revision: caption?.final ? revision : 0 }];
}

/** What the displays show of an utterance, or showed before it was hidden: `{lang, text}`. */
export function shownText(entry) {
  const { caption, lang } = entry;
  return caption?.target.text ? caption.target : (finalOf(entry) ?? { lang, text: "" });
}

/** What was said, as far as is known: an operator's own words, else the recognizer's; `{lang, text}`. */
export function heardText({ caption, record }) {
  if (caption?.corrected && caption.source.text) return caption.source;
  return record ? { lang: record.lang, text: record.text } : caption.source;
}

/** What the recognizer has heard, before the dictionary; `{lang, text}`. */
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

/** What was found out by comparing a final with what was said, "" if there is nothing to do. */
function checkWords({ kind, outcome, said, found, written }) {
  if (outcome === "repaired") return fill(wording.check_repaired, { found, written });
  if (outcome !== "doubtful") return "";
  if (kind === "term") return fill(wording.check_term, { said, written });
  if (kind === "negation") return fill(wording.check_negation, { said });
  if (said === "") return fill(wording.check_not_said, { found });
  return fill(written ? wording.check_missing_as : wording.check_missing, { said, written });
}

/** What the operator should know about an utterance, in words: `{text, strong}`. */
export function remarks(entry) {
  const { caption, record } = entry;
  // What the program found holds of a text that is no longer there.
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
  if (Number.isInteger(record?.repeats)) put(`↻ ${fill(wording.number, { id: record.repeats })}`, false); // An interpreter says it again.
  const isOwn = finalOf(entry) !== null;
  for (const check of (isOwn && record.checks) || []) {
    const text = checkWords(check);
    if (text) put(text, check.outcome === "doubtful");
  }
  if (entry.isDoubtful && isOwn && now !== "filtered") put(fill(wording.look_at, { why: reason(record.flags) }), false);
  return found;
}

/** The gravest of what the program holds against a caption, in plain words. */
function reason(flags) {
  const [measure] = (flags.find((flag) => flag.endsWith(":reject")) ?? flags.find((flag) => flag === "doubt:flag") ?? flags[0]).split(":");
  return DOUBTS[measure] ?? measure;
}
