// The church's own voice: one endless sound a language, which plays on while the phone is locked.

const AGAIN_MS = 2000;
const LOOK_MS = 4000;
const LATE_S = 8; // Sound that has piled up behind a break: a listener hears what is said now.

/** Plays the voice of a language, through breaks of the network, always at what is said now. */
export class Listener {
  #audio;
  #lang = "";
  #timer = 0;
  #played = -1;

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
    this.#audio.pause();
    this.#audio.removeAttribute("src"); // Else it would go on fetching.
    this.#audio.load();
  }

  #load() {
    clearTimeout(this.#timer);
    this.#played = -1;
    this.#audio.src = `/listen/${this.#lang}?at=${Date.now()}`; // Never from a cache.
    // What goes wrong is told by the event "error" as well.
    this.#audio.play().catch(() => {});
  }

  #again() {
    if (!this.isOn) return;
    this.#onBreak();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.isOn && this.#load(), AGAIN_MS);
  }

  /** Begin anew where nothing has come for a while, or so much that it would be heard late. */
  #look() {
    const { buffered, currentTime, paused } = this.#audio;
    if (!this.isOn || paused) return;
    const ahead = buffered.length > 0 ? buffered.end(buffered.length - 1) - currentTime : 0;
    if (currentTime === this.#played || ahead > LATE_S) this.#again();
    this.#played = currentTime;
  }
}
