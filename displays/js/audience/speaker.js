// Captions read aloud by the phone's own voice: what is settled, each word once, never far behind.

import { splitAt } from "../render/caption_text.js";
import { gapOf, piecesOf } from "../shared/words.js";

const LATE_MS = 6000; // So far behind, a listener is told what is said now, not what was.
const OLD_S = 15;
const SLOW_MS = 1500;
const FASTEST = 1.25; // Faster speech is hard to follow for those who need it most.
const SLOWEST_CHARACTERS_A_S = 6;
const CLAUSE = /^.*[.!?…;:,،؛؟、。，；：！？]["'”’»)\]]*(?=\s|$)/s;
const UNSPACED_CLAUSE = /^.*[、。，；：！？…]/s;

/** What of a caption is read to a listener of `lang`: `{lang, text}`. A printed verse without its place, no signs. */
function spokenFor({ source, target, verse }, lang) {
  if (lang === source.lang) return source;
  return verse && target.text !== "" ? verse : target;
}

/** What of a caption cannot change any more, up to the end of a clause; all of a final. */
function settled(caption, lang) {
  const spoken = spokenFor(caption, lang);
  if (caption.final) return spoken;
  if (caption.corrected) return { lang: spoken.lang, text: "" }; // What was heard wrongly, until it is translated anew.
  // `stable` is about the target text.
  const [text] = splitAt(caption.target.text, spoken === caption.target ? caption.stable : 0);
  return { lang: spoken.lang, text: (gapOf(lang) ? CLAUSE : UNSPACED_CLAUSE).exec(text)?.[0] ?? "" };
}

/**
 * Speaks captions with `synthesis`, the browser's `speechSynthesis`. What is to be said next is looked up when its turn
 * comes: a caption that was hidden or mended meanwhile is never said as it was.
 */
export class Speaker {
  #synthesis;
  #lang = "";
  #captions = new Map(); // by id, the newest version
  #said = new Map(); // by id, how many words were said
  #since = new Map(); // by id, when its first word came that was not said yet, ms
  #current = null; // {id, utterance, timer} that is being said

  constructor(synthesis) {
    this.#synthesis = synthesis;
  }

  get isOn() {
    return this.#lang !== "";
  }

  /** The language that is read, "" while nothing is. */
  get lang() {
    return this.#lang;
  }

  /** Whether the device has a voice for `lang`. One that lists no voices at all may have one. */
  hasVoice(lang) {
    const voices = this.#synthesis.getVoices();
    return voices.length === 0 || this.#voice(lang) !== undefined;
  }

  /** Begin after `captions`, which were shown before, and say `greeting`: phones speak only after a touch that spoke. */
  start(captions, lang, greeting) {
    this.stop();
    this.#lang = lang;
    for (const caption of captions) this.#passOver(caption);
    this.#utter(-1, greeting, 1);
  }

  /** Be silent, and forget what was to be said. */
  stop() {
    this.#lang = "";
    this.forget();
  }

  /** Begin anew: another service's ids are of other captions. */
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
    // What an operator has written waits for its translation, and is not final until then.
    const isMended = caption.corrected || (caption.final && this.#captions.get(caption.id)?.final);
    this.#captions.set(caption.id, caption);
    // What is put right is not said twice.
    if (isMended && this.#said.get(caption.id) > 0) this.#passOver(caption);
    if (this.#rest(caption).length === 0) this.#since.delete(caption.id);
    else if (!this.#since.has(caption.id)) this.#since.set(caption.id, performance.now());
    if (this.#current?.id === caption.id && spokenFor(caption, this.#lang).text === "") this.#silence();
    this.#next();
  }

  /** Leave out what has not been said yet, as of captions that are off the screen. */
  passOver(captions) {
    if (!this.isOn) return;
    for (const caption of captions) this.#passOver(caption);
    this.#since.clear(); // Also of what was hidden while the line was lost.
    this.#silence();
  }

  /** Go on with the newest of `captions`, which have come at once and are all there are: the others are hidden by now. */
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
    // What was said stays said, also where it is hidden now and shown again later.
    this.#said.set(caption.id, Math.max(piecesOf(text, lang).length, this.#said.get(caption.id) ?? 0));
    this.#since.delete(caption.id);
  }

  /** Whether it is new here and was said long ago: a language that rested is filled in, backwards, for readers. */
  #isOld({ id, end_s }) {
    const newest = this.#captions.get(Math.max(...this.#captions.keys()));
    return !this.#captions.has(id) && newest?.id > id && newest.end_s - end_s > OLD_S;
  }

  /** The settled words of a caption that were not said yet. Words that a final has replaced count as said. */
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
    // Some browsers never say that they have ended.
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

  /** Go on with what is next, once the browser is rid of what was said. */
  #end(rid = () => {}) {
    clearTimeout(this.#current.timer);
    this.#current = null; // Before the browser says that it has ended.
    rid();
    this.#next();
  }

  /** The device's voice for a language, one that needs no network before all others. */
  #voice(lang) {
    const [base] = lang.toLowerCase().split("-");
    const voices = this.#synthesis.getVoices().filter((voice) => voice.lang.toLowerCase().split(/[-_]/)[0] === base);
    return voices.find((voice) => voice.localService) ?? voices[0];
  }
}
