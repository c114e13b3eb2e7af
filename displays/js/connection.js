// The socket to the server: it comes back by itself, resumes where it was, and reports what was painted.
// docs/PROTOCOL.md has the messages.

const PROTOCOL = 1;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;
const REFUSED_MS = 60_000;
const REFUSED_CODES = new Set([1008, 1009]);
const ASLEEP_MS = 30_000;

/** Milliseconds before a retry: doubling up to 15 s, half of it random so that a hall of phones spreads out. */
export function retryDelayMs(attempt, random = Math.random) {
  const longest = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt);
  return longest * (0.5 + random() / 2);
}

/** Call `task` once what the document holds now is on the glass. */
function afterPaint(task) {
  // A frame callback runs before its frame is painted; a task queued there runs after.
  requestAnimationFrame(() => setTimeout(task));
}

/**
 * `onMessage` gets every message of the server in order. `onLink` gets "connecting", "open", "lost" (it will
 * try again), or "outdated" (the server speaks another protocol version; it will not). `onOpen` is called when a new
 * socket is open, before anything has come over it: the place to `send` a token.
 */
export class Connection {
  #kind;
  #lang;
  #onMessage;
  #onLink;
  #onOpen;
  #socket = null;
  #session = "";
  #seq = 0;
  #attempt = 0;
  #timer = 0;
  #painted = 0;
  #hiddenAt = 0;

  constructor({ kind, lang = "", onMessage, onLink, onOpen = () => {} }) {
    this.#kind = kind;
    this.#lang = lang;
    this.#onMessage = onMessage;
    this.#onLink = onLink;
    this.#onOpen = onOpen;
    window.addEventListener("online", () => this.#open());
    document.addEventListener("visibilitychange", () => this.#wake());
    onLink("connecting");
    this.#open();
  }

  /** Subscribe to another language, "" for the server's target, from its snapshot on. */
  subscribe(lang) {
    this.#lang = lang;
    this.#session = "";
    this.#open();
  }

  /** Acknowledge the caption message `seq` once it is painted; of several in one frame only the newest. */
  painted(seq) {
    if (this.#painted === 0) afterPaint(() => this.#acknowledge());
    this.#painted = Math.max(this.#painted, seq);
  }

  /** Send a message. False if the link is down: nothing is kept for later. */
  send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  #acknowledge() {
    this.send({ type: "ack", seq: this.#painted });
    this.#painted = 0;
  }

  #open() {
    this.#drop();
    const query = new URLSearchParams({ kind: this.#kind });
    if (this.#lang) query.set("lang", this.#lang);
    if (this.#session) {
      query.set("session", this.#session);
      query.set("since", this.#seq);
    }
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws?${query}`);
    socket.onopen = () => this.#onOpen();
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    socket.onclose = (event) => this.#lost(event.code);
    this.#socket = socket;
  }

  /** Let go of the socket, and of a retry, without hearing from them again. */
  #drop() {
    clearTimeout(this.#timer);
    if (!this.#socket) return;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
    this.#socket = null;
  }

  #receive(message) {
    if (message.type === "hello") {
      if (message.protocol !== PROTOCOL) {
        this.#drop();
        this.#onLink("outdated");
        return;
      }
      this.#session = message.session;
      this.#attempt = 0;
      this.#onLink("open");
    }
    if (message.type === "hello" || message.type === "caption") this.#seq = message.seq;
    this.#onMessage(message);
  }

  #lost(code) {
    this.#socket = null;
    this.#onLink("lost");
    const delayMs = REFUSED_CODES.has(code) ? REFUSED_MS : retryDelayMs(this.#attempt++);
    this.#timer = setTimeout(() => this.#open(), delayMs);
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
