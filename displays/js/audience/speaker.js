// Captions read aloud by the phone's own voice: settled text, each word once, never far behind.

import { splitAt } from "../render/caption_text.js";
import { gapOf, piecesOf } from "../shared/words.js";

const LATE_MS = 6000; // Above this delay, skip to what is said now.
const OLD_S = 15;
const SLOW_MS = 1500;
const FASTEST = 1.25; // Faster speech is hard to follow for the people who need it most.
const SLOWEST_CHARACTERS_A_S = 6;
const CLAUSE = /^.*[.!?…;:,،؛؟、。，；：！？]["'”’»)\]]*(?=\s|$)/s;
const UNSPACED_CLAUSE = /^.*[、。，；：！？…]/s;

/** The text of a caption that is read aloud in `lang`: a verse without its reference, no marks. */
function spokenFor({ source, target, verse }, lang) {
  if (lang === source.lang) return source;
  return verse && target.text !== "" ? verse : target;
}

/** The part of a caption that cannot change, up to the end of a clause; all of a final. */
function settled(caption, lang) {
  const spoken = spokenFor(caption, lang);
  if (caption.final) return spoken;
  if (caption.corrected) return { lang: spoken.lang, text: "" }; // Wrong until retranslated.
  // `stable` counts characters of the target text.
  const [text] = splitAt(caption.target.text, spoken === caption.target ? caption.stable : 0);
  return { lang: spoken.lang, text: (gapOf(lang) ? CLAUSE : UNSPACED_CLAUSE).exec(text)?.[0] ?? "" };
}

/**
 * Speaks captions with `synthesis`, the browser's `speechSynthesis`. It looks up each text just
 * before it speaks: it never speaks the old text of a caption that was hidden or corrected.
 */
export class Speaker {
  #synthesis;
  #lang = "";
  #captions = new Map(); // by id, the newest revision
  #said = new Map(); // by id, the number of spoken words
  #since = new Map(); // by id, when its first unspoken word arrived, ms
  #current = null; // {id, utterance, timer} of the current speech

  constructor(synthesis) {
    this.#synthesis = synthesis;
  }

  get isOn() {
    return this.#lang !== "";
  }

  /** The language that is read aloud, "" for none. */
  get lang() {
    return this.#lang;
  }

  /** Whether the device has a voice for `lang`. A device that lists no voices may have one. */
  hasVoice(lang) {
    const voices = this.#synthesis.getVoices();
    return voices.length === 0 || this.#voice(lang) !== undefined;
  }

  /** Skip `captions`, shown before, and speak `greeting`: phones must speak right at a touch. */
  start(captions, lang, greeting) {
    this.stop();
    this.#lang = lang;
    for (const caption of captions) this.#passOver(caption);
    this.#utter(-1, greeting, 1);
  }

  /** Stop, and drop what is waiting. */
  stop() {
    this.#lang = "";
    this.forget();
  }

  /** Start again: the ids of another service belong to other captions. */
  forget() {
    this.#captions.clear();
    this.#said.clear();
    this.#since.clear();
    this.#silence();
  }

  /** Take a caption that has changed. */
  take(caption) {
    if (!this.isOn) return;
    if (this.#isOld(caption)) return this.#passOver(caption);
    // An operator's edit waits for its translation, and is not final until then.
    const isMended = caption.corrected || (caption.final && this.#captions.get(caption.id)?.final);
    this.#captions.set(caption.id, caption);
    // Corrected text is not spoken twice.
    if (isMended && this.#said.get(caption.id) > 0) this.#passOver(caption);
    if (this.#rest(caption).length === 0) this.#since.delete(caption.id);
    else if (!this.#since.has(caption.id)) this.#since.set(caption.id, performance.now());
    if (this.#current?.id === caption.id && spokenFor(caption, this.#lang).text === "") this.#silence();
    this.#next();
  }

  /** Skip what is not spoken yet, for captions that are off the screen. */
  passOver(captions) {
    if (!this.isOn) return;
    for (const caption of captions) this.#passOver(caption);
    this.#since.clear(); // Also for captions that were hidden while disconnected.
    this.#silence();
  }

  /** Read on from the newest of `captions`, a full list: a caption that is not in it is hidden. */
  resume(captions) {
    this.#since.clear();
    for (const caption of captions.slice(0, -1)) this.#passOver(caption);
    const id = this.#current?.id ?? -1; // -1 is the greeting.
    if (id >= 0 && captions.every((caption) => caption.id !== id)) this.#silence();
    for (const caption of captions.slice(-1)) this.take(caption);
  }

  #passOver(caption) {
    this.#captions.set(caption.id, caption);
    const { lang, text } = spokenFor(caption, this.#lang);
    // Spoken words stay counted, even if the caption is hidden and shown again later.
    this.#said.set(caption.id, Math.max(piecesOf(text, lang).length, this.#said.get(caption.id) ?? 0));
    this.#since.delete(caption.id);
  }

  /** Whether a caption is new here but old: an idle language is filled in backwards for readers. */
  #isOld({ id, end_s }) {
    const newest = this.#captions.get(Math.max(...this.#captions.keys()));
    return !this.#captions.has(id) && newest?.id > id && newest.end_s - end_s > OLD_S;
  }

  /** The settled, unspoken words of a caption. Words that a final has replaced count as spoken. */
  #rest(caption) {
    const { lang, text } = settled(caption, this.#lang);
    return piecesOf(text, lang).slice(this.#said.get(caption.id) ?? 0);
  }

  #next() {
    if (this.#current) return;
    const waiting = [...this.#since.keys()].sort((a, b) => a - b);
    if (waiting.length === 0) return;
    const waited = performance.now() - this.#since.get(waiting[0]);
    if (waited > LATE_MS) for (const id of waiting.splice(0, waiting.length - 1)) this.#passOver(this.#captions.get(id));
    const [id] = waiting;
    const caption = this.#captions.get(id);
    const rest = this.#rest(caption);
    this.#said.set(id, (this.#said.get(id) ?? 0) + rest.length);
    this.#since.delete(id);
    const text = rest.map((piece) => piece.text + piece.gap).join("");
    this.#utter(id, text.trim(), Math.min(FASTEST, Math.max(1, waited / SLOW_MS)));
  }

  #utter(id, text, rate) {
    const utterance = new SpeechSynthesisUtterance(text);
    const caption = this.#captions.get(id);
    utterance.lang = caption ? spokenFor(caption, this.#lang).lang : this.#lang;
    utterance.voice = this.#voice(utterance.lang) ?? null;
    utterance.rate = rate;
    // Some browsers never report the end of an utterance.
    const timer = setTimeout(() => this.#silence(), 3000 + (text.length / SLOWEST_CHARACTERS_A_S) * 1000);
    this.#current = { id, utterance, timer };
    utterance.onend = utterance.onerror = () => {
      if (this.#current?.utterance === utterance) this.#end();
    };
    this.#synthesis.speak(utterance);
  }

  #silence() {
    if (this.#current) this.#end(() => this.#synthesis.cancel());
  }

  /** Continue with the next text after the browser has dropped the current one. */
  #end(rid = () => {}) {
    clearTimeout(this.#current.timer);
    this.#current = null; // Before the browser reports the end.
    rid();
    this.#next();
  }

  /** The device's voice for a language; a voice that works offline is preferred. */
  #voice(lang) {
    const [base] = lang.toLowerCase().split("-");
    const voices = this.#synthesis.getVoices().filter((voice) => voice.lang.toLowerCase().split(/[-_]/)[0] === base);
    return voices.find((voice) => voice.localService) ?? voices[0];
  }
}
