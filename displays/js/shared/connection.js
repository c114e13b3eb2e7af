// The connection to the server: it reconnects, resumes, and acknowledges painted captions.
// docs/PROTOCOL.md defines the messages.

import { Socket } from "./socket.js";

const PROTOCOL = 1;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;
const REFUSED_MS = 60_000;
const REFUSED_CODES = new Set([1008, 1009]);
const ASLEEP_MS = 30_000;
const SILENT_MS = 25_000; // The server says `alive` every 10 s.

/** Milliseconds before a retry: doubles up to 15 s, half of it random to spread many phones. */
export function retryDelayMs(attempt, random = Math.random) {
  const longest = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt);
  return longest * (0.5 + random() / 2);
}

/** Call `task` after the current document has been painted. */
export function afterPaint(task) {
  // A frame callback runs before its frame is painted; a task that it queues runs after.
  requestAnimationFrame(() => setTimeout(task));
}

/**
 * `onMessage` gets every message of the server in order. `onLink` gets "connecting", "open", "lost"
 * (it retries) or "outdated" (another protocol version: no retry). `onOpen` is called when a socket
 * opens, before any message: the place to `send` a token. `prefer` has the reader's language tags,
 * separated by commas; the server picks one if `lang` is "". `history` limits the captions in
 * `hello`, "" for all. `preconnect` is a first socket, opened by the page (js/shared/socket.js).
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
  #got = ""; // The language of its captions, also if the server chose it.
  #seq = 0;
  #isWhole = false; // All captions up to #seq are known, not only the newest.
  #attempt = 0;
  #retryTimer = 0;
  #silenceTimer = 0;
  #isWatched = false; // The server sends `alive`, so silence means a dead link.
  #painted = 0;
  #acknowledges = true; // With thousands of displays the server asks only some.
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

  /** Subscribe to another language, "" for the server's choice, starting with its snapshot. */
  subscribe(lang) {
    this.#lang = lang;
    this.#session = "";
    this.#open();
  }

  /** Acknowledge the caption message `seq` after its paint; per frame only the newest. */
  painted(seq) {
    if (!this.#acknowledges) return;
    if (this.#painted === 0) afterPaint(() => this.#acknowledge());
    this.#painted = Math.max(this.#painted, seq);
  }

  /** Send a message. False if the link is down: nothing is queued. */
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
    // A dropped socket may still fire events: ignore them.
    const current = (act) => (event) => socket === this.#socket && act(event);
    socket.listen({
      open: current(() => this.#onOpen()),
      message: current((event) => this.#receive(JSON.parse(event.data))),
      close: current((event) => this.#lost(event.code)),
    });
  }

  /** Drop the socket, and cancel a retry. */
  #drop() {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#silenceTimer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  /** A link may be dead without an event: Wi-Fi out of range, a router that lost our connection. */
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
      // After a restart the server may choose another language, which counts its captions apart.
      if (message.resumed && message.lang !== this.#got) return this.subscribe(this.#lang);
      this.#session = message.session;
      this.#got = message.lang;
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

  /** A phone that slept may have a dead socket without an event: open a new one. */
  #wake() {
    if (document.visibilityState === "hidden") {
      this.#hiddenAt = Date.now();
    } else if (this.#socket === null || Date.now() - this.#hiddenAt > ASLEEP_MS) {
      this.#open();
    }
  }
}
