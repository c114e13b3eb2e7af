// A display's model of the service. Only messages and the link change it; pages show it. No DOM.

import { Captions } from "./captions.js";

const CATCH_UP = 6; // After a break of more captions, continue with what is said now.

/**
 * The newest `limit` captions and the server's state, for a reader of `lang` ("" for the server's
 * choice). `langOf(hello)` is the language that the page shows.
 */
export class Session {
  #langOf;

  /** "connecting", "open", "lost" or "outdated", as in js/shared/connection.js. */
  link = "connecting";
  /** The server's mode and state, "" before its `hello`. */
  mode = "";
  state = "";
  lang;
  /** The spoken language, and the languages of the captions. */
  source = "";
  langs = [];
  /** The server's text on what it refuses in this page's subscription, or "". */
  refusal = "";
  /** The current notice: its text by language, {} for none. */
  notice = {};
  captions;
  /** The service's name: caption ids start again with each service. */
  name = "";

  constructor({ limit, lang = "", langOf = (hello) => hello.lang }) {
    this.captions = new Captions(limit);
    this.lang = lang;
    this.#langOf = langOf;
  }

  get isBlank() {
    return this.state === "blank";
  }

  /** Whether somebody is speaking, as far as the page knows. */
  get isSpeaking() {
    return this.link === "open" && this.state === "speech";
  }

  /** Set the link's state. False if it is the same: each failed attempt to connect says "lost". */
  setLink(link) {
    const hasChanged = link !== this.link;
    this.link = link;
    return hasChanged;
  }

  /**
   * Handle a message. Return what it was, for the page; null if displays do not need it:
   *   `{type: "hello", missed}`            `missed`: too much is new; show the newest captions
   *   `{type: "earlier"}`                  older captions have come
   *   `{type: "caption", caption, isNew, isNewlyFinal, before}`    `isNew`: it changed something;
   *                                        `before`: its last final, if it was resumed after it
   *   `{type: "status"}`, `{type: "notice"}`, `{type: "error", code}`
   */
  receive(message) {
    switch (message.type) {
      case "hello":
        return this.#onHello(message);
      case "earlier":
        this.captions.add(message);
        return { type: "earlier" };
      case "caption":
        return this.#onCaption(message);
      case "notice":
        this.notice = message.texts;
        return { type: "notice" };
      case "status":
        this.#setState(message);
        return { type: "status" };
      case "error":
        this.refusal = message.message;
        return { type: "error", code: message.code };
      default:
        return null;
    }
  }

  #onHello(hello) {
    this.#setState(hello);
    this.lang = this.#langOf(hello);
    this.source = hello.source;
    // If several languages are spoken, the source is a target too.
    this.langs = [...new Set([...(hello.targets ?? []), hello.source])];
    this.refusal = "";
    this.notice = hello.notice?.texts ?? {};
    this.captions.onHello(hello);
    this.name = hello.session;
    return { type: "hello", missed: !hello.resumed || hello.captions.length > CATCH_UP };
  }

  #onCaption(caption) {
    const known = this.captions.get(caption.id);
    const before = this.captions.finalOf(caption.id) ?? null;
    const isNew = this.captions.put(caption);
    return { type: "caption", caption, isNew, isNewlyFinal: isNew && caption.final && !known?.final, before };
  }

  #setState({ mode, state }) {
    this.mode = mode;
    this.state = state;
  }
}

/** Measures time without speech and calls back after `ms` milliseconds; 0: never. */
export class SilenceTimer {
  #ms;
  #onSilence;
  #timer = 0;

  constructor(ms, onSilence) {
    this.#ms = ms;
    this.#onSilence = onSilence;
  }

  /** Restart the timer; while somebody is speaking only stop it, until the next call. */
  restart(isSpeaking) {
    clearTimeout(this.#timer);
    if (this.#ms > 0 && !isSpeaking) this.#timer = setTimeout(this.#onSilence, this.#ms);
  }
}
