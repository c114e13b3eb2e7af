// The church's own voice: one endless audio stream per language. It plays on a locked phone.

const TYPE = "audio/mpeg";
const AGAIN_MS = 2000;
const LOOK_MS = 4000;
const LATE_S = 3; // Skip audio that piled up after a break: listeners hear what is said now.
const BEHIND_S = 0.6; // Audio buffered ahead; with less, every late packet causes a gap.
const BLOCK_S = 5.5; // The most that a player that fetches by itself may buffer.
const KEPT_S = 20;
// Chromium's <audio> element loads a URL in blocks of 32 kB, five seconds of this audio. Data for a
// MediaSource plays at once. Without one (iPhones) or if it takes no MP3, the element gets the URL.
const feeds = "MediaSource" in window && MediaSource.isTypeSupported(TYPE);

/** Plays the voice of a language. It survives network breaks and stays at what is said now. */
export class Listener {
  #audio;
  #lang = "";
  #timer = 0;
  #played = -1;
  #leaving = new AbortController();

  #onBreak;

  /** `audio` is an audio element. `onBreak` is awaited after the audio stops, before a retry. */
  constructor(audio, onBreak) {
    this.#audio = audio;
    this.#onBreak = onBreak;
    for (const event of ["error", "ended"]) audio.addEventListener(event, () => this.#again());
    setInterval(() => this.#look(), LOOK_MS);
  }

  get isOn() {
    return this.#lang !== "";
  }

  /** The language that is playing, "" for none. */
  get lang() {
    return this.#lang;
  }

  /** Play a language; call it only after a touch. `title` is shown on the locked screen. */
  start(lang, title) {
    this.#lang = lang;
    const { mediaSession } = navigator;
    if (mediaSession && window.MediaMetadata) {
      mediaSession.metadata = new MediaMetadata({ title });
      // After a pause, playback resumes at what is said now.
      mediaSession.setActionHandler("play", () => this.#load());
      mediaSession.setActionHandler("pause", () => this.#cease());
    }
    this.#load();
  }

  stop() {
    if (!this.isOn) return;
    this.#lang = "";
    this.#cease();
    this.#audio.removeAttribute("src"); // Otherwise it keeps fetching.
    this.#audio.load();
  }

  /** Be silent until the next `#load`: nothing that is under way starts sound. */
  #cease() {
    clearTimeout(this.#timer);
    this.#leaving.abort();
    this.#audio.pause();
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
    // The "error" event reports failures too.
    this.#audio.play().catch(() => {});
  }

  /** Feed the audio of an address to the player until the stream ends or `signal` aborts. */
  async #feed(address, signal) {
    const source = new MediaSource();
    const url = URL.createObjectURL(source);
    this.#audio.src = url;
    await happened(source, "sourceopen");
    URL.revokeObjectURL(url); // Only this URL: the player may use another one by now.
    const buffer = source.addSourceBuffer(TYPE);
    const answer = await fetch(address, { signal, cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    const reader = answer.body.getReader();
    for (;;) {
      // Chunks are appended one after the other, in order.
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
    const { signal } = this.#leaving;
    this.#timer = setTimeout(async () => {
      await this.#onBreak(); // After a delay: a server that restarts does not answer.
      // Who paused or stopped it, also meanwhile, must not be surprised: "play" resumes.
      if (!signal.aborted && (!this.#audio.paused || this.#audio.ended)) this.#load();
    }, AGAIN_MS);
  }

  /** Restart if no audio has arrived for a while, or if playback is too late. */
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
