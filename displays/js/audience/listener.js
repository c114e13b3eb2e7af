// The church's own voice: one endless sound a language, which plays on while the phone is locked.

const TYPE = "audio/mpeg";
const AGAIN_MS = 2000;
const LOOK_MS = 4000;
const LATE_S = 3; // Sound that has piled up behind a break: a listener hears what is said now.
const BEHIND_S = 0.6; // So much waits to be played; with less every late packet is a gap.
const BLOCK_S = 5.5; // Of what a player that fetches for itself may hold.
const KEPT_S = 20;
// An <audio> element of Chromium takes an address in blocks of 32 kB, five seconds of this sound. What a page puts into
// a MediaSource is played at once. Without one (iPhones) or where it takes no MP3, the element gets the address.
const feeds = "MediaSource" in window && MediaSource.isTypeSupported(TYPE);

/** Plays the voice of a language, through breaks of the network, always at what is said now. */
export class Listener {
  #audio;
  #lang = "";
  #timer = 0;
  #played = -1;
  #leaving = new AbortController();

  #onBreak;

  /** `audio` is an audio element. `onBreak` is called where the sound has broken off, before it is tried again. */
  constructor(audio, onBreak) {
    this.#audio = audio;
    this.#onBreak = onBreak;
    for (const event of ["error", "ended"]) audio.addEventListener(event, () => this.#again());
    setInterval(() => this.#look(), LOOK_MS);
  }

  get isOn() {
    return this.#lang !== "";
  }

  /** The language that is heard, "" while none is. */
  get lang() {
    return this.#lang;
  }

  /** Play a language; only in answer to a touch. `title` is what a locked screen shows. */
  start(lang, title) {
    this.#lang = lang;
    const { mediaSession } = navigator;
    if (mediaSession && window.MediaMetadata) {
      mediaSession.metadata = new MediaMetadata({ title });
      // Behind a pause it goes on with what is said now.
      mediaSession.setActionHandler("play", () => this.#load());
      mediaSession.setActionHandler("pause", () => this.#audio.pause());
    }
    this.#load();
  }

  stop() {
    if (!this.isOn) return;
    this.#lang = "";
    clearTimeout(this.#timer);
    this.#leaving.abort();
    this.#audio.pause();
    this.#audio.removeAttribute("src"); // Else it would go on fetching.
    this.#audio.load();
  }

  #load() {
    clearTimeout(this.#timer);
    this.#played = -1;
    this.#leaving.abort();
    this.#leaving = new AbortController();
    const { signal } = this.#leaving;
    const address = `/listen/${this.#lang}?at=${Date.now()}`; // Never from a cache.
    if (feeds) this.#feed(address, signal).catch(() => signal.aborted || this.#again());
    else this.#audio.src = address;
    // What goes wrong is told by the event "error" as well.
    this.#audio.play().catch(() => {});
  }

  /** Put an address's sound into the player as it comes; ends with the sound, or as `signal` says. */
  async #feed(address, signal) {
    const source = new MediaSource();
    const url = URL.createObjectURL(source);
    this.#audio.src = url;
    await happened(source, "sourceopen");
    URL.revokeObjectURL(url); // Its own: the player may have gone on to another.
    const buffer = source.addSourceBuffer(TYPE);
    const answer = await fetch(address, { signal, cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    const reader = answer.body.getReader();
    for (;;) {
      // Bytes are put in one after the other, as they come.
      const { done, value } = await reader.read();
      if (done) throw new Error("The sound has ended.");
      buffer.appendBuffer(value);
      await happened(buffer, "updateend");
      const old = this.#audio.currentTime - KEPT_S;
      if (old > KEPT_S && buffer.buffered.start(0) < old - KEPT_S) {
        buffer.remove(0, old);
        await happened(buffer, "updateend");
      }
    }
  }

  #again() {
    if (!this.isOn) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // Who has paused it is not to be surprised: it goes on by "play".
      if (!this.isOn || (this.#audio.paused && !this.#audio.ended)) return;
      this.#onBreak(); // Not at once: a server that restarts answers nobody.
      this.#load();
    }, AGAIN_MS);
  }

  /** Begin anew where nothing has come for a while, or so much that it would be heard late. */
  #look() {
    const { buffered, currentTime, paused } = this.#audio;
    if (!this.isOn || paused) return;
    const ahead = buffered.length > 0 ? buffered.end(buffered.length - 1) - currentTime : 0;
    if (feeds && ahead > LATE_S) this.#audio.currentTime += ahead - BEHIND_S;
    else if (currentTime === this.#played || ahead > LATE_S + BLOCK_S) this.#again();
    this.#played = currentTime;
  }
}

/** Wait for an event. */
function happened(target, event) {
  return new Promise((resolve) => {
    target.addEventListener(event, resolve, { once: true });
  });
}
