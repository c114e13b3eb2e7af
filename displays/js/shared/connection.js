// The connection to the server: it comes back by itself, resumes where it was, and reports what was painted.
// docs/PROTOCOL.md has the messages.

import { Socket } from "./socket.js";

const PROTOCOL = 1;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;
const REFUSED_MS = 60_000;
const REFUSED_CODES = new Set([1008, 1009]);
const ASLEEP_MS = 30_000;
const SILENT_MS = 25_000; // The server says `alive` every 10 s.

/** Milliseconds before a retry: doubling up to 15 s, half of it random so that a hall of phones spreads out. */
export function retryDelayMs(attempt, random = Math.random) {
  const longest = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt);
  return longest * (0.5 + random() / 2);
}

/** Call `task` once what the document holds now is on the glass. */
export function afterPaint(task) {
  // A frame callback runs before its frame is painted; a task queued there runs after.
  requestAnimationFrame(() => setTimeout(task));
}

/**
 * `onMessage` gets every message of the server in order. `onLink` gets "connecting", "open", "lost" (it will
 * try again), or "outdated" (the server speaks another protocol version; it will not). `onOpen` is called when a new
 * socket is open, before anything has come over it: the place to `send` a token. `prefer` are the reader's language tags
 * with commas between, of which the server takes one where `lang` is "". `history` is how many captions
 * `hello` may hold, "" for all. `preconnect` is the first socket where the page has opened one already (js/shared/socket.js).
 */
export class Connection {
  #kind;
  #lang;
  #prefer;
  #history;
  #onMessage;
  #onLink;
  #onOpen;
  #socket = null;
  #session = "";
  #seq = 0;
  #isWhole = false; // We have all captions up to #seq, not only the newest of them.
  #attempt = 0;
  #retryTimer = 0;
  #silenceTimer = 0;
  #isWatched = false; // The server gives signs of life, so their absence means something.
  #painted = 0;
  #acknowledges = true; // Where thousands watch, the server asks only some.
  #hiddenAt = 0;

  constructor({ kind, lang = "", prefer = "", history = "", preconnect = null, onMessage, onLink, onOpen = () => {} }) {
    this.#kind = kind;
    this.#lang = lang;
    this.#prefer = prefer;
    this.#history = history;
    this.#onMessage = onMessage;
    this.#onLink = onLink;
    this.#onOpen = onOpen;
    window.addEventListener("online", () => this.#open());
    document.addEventListener("visibilitychange", () => this.#wake());
    onLink("connecting");
    this.#open(preconnect);
  }

  /** Subscribe to another language, "" for the server's choice, from its snapshot on. */
  subscribe(lang) {
    this.#lang = lang;
    this.#session = "";
    this.#open();
  }

  /** Acknowledge the caption message `seq` once it is painted; of several in one frame only the newest. */
  painted(seq) {
    if (!this.#acknowledges) return;
    if (this.#painted === 0) afterPaint(() => this.#acknowledge());
    this.#painted = Math.max(this.#painted, seq);
  }

  /** Send a message. False if the link is down: nothing is kept for later. */
  send(message) {
    if (!this.#socket?.isOpen) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  #acknowledge() {
    this.send({ type: "ack", seq: this.#painted });
    this.#painted = 0;
  }

  #open(preconnect = null) {
    this.#drop();
    const resume = this.#session && this.#isWhole ? { session: this.#session, since: this.#seq } : {};
    const asked = { kind: this.#kind, lang: this.#lang, prefer: this.#lang ? "" : this.#prefer, history: this.#history, ...resume };
    const socket = new Socket(asked, preconnect);
    this.#socket = socket;
    this.#awaitSign();
    // A socket that was let go of may still have something to say: nobody listens.
    const current = (act) => (event) => socket === this.#socket && act(event);
    socket.listen({
      open: current(() => this.#onOpen()),
      message: current((event) => this.#receive(JSON.parse(event.data))),
      close: current((event) => this.#lost(event.code)),
    });
  }

  /** Let go of the socket, and of a retry. */
  #drop() {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#silenceTimer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  /** A link may be dead without the browser knowing it: Wi-Fi out of reach, a router that forgot about us. */
  #awaitSign() {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => {
      this.#drop();
      this.#lost();
    }, SILENT_MS);
  }

  #receive(message) {
    if (message.type === "hello") {
      if (message.protocol !== PROTOCOL) {
        this.#drop();
        this.#onLink("outdated");
        return;
      }
      this.#session = message.session;
      this.#acknowledges = message.acks ?? true;
      this.#isWhole = message.resumed || this.#history === "";
      this.#attempt = 0;
      this.#onLink("open");
    }
    this.#isWhole ||= message.type === "earlier";
    if (message.type === "hello" || message.type === "caption") this.#seq = message.seq;
    this.#isWatched ||= message.type === "alive";
    if (this.#isWatched) this.#awaitSign();
    else clearTimeout(this.#silenceTimer);
    this.#onMessage(message);
  }

  #lost(code) {
    this.#socket = null;
    clearTimeout(this.#silenceTimer);
    this.#onLink("lost");
    const delayMs = REFUSED_CODES.has(code) ? REFUSED_MS : retryDelayMs(this.#attempt++);
    this.#retryTimer = setTimeout(() => this.#open(), delayMs);
  }

  /** A phone that slept may hold a socket that is dead without knowing it: take a fresh one. */
  #wake() {
    if (document.visibilityState === "hidden") {
      this.#hiddenAt = Date.now();
    } else if (this.#socket === null || Date.now() - this.#hiddenAt > ASLEEP_MS) {
      this.#open();
    }
  }
}
