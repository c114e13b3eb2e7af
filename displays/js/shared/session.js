// What a display knows of the service: how its link is, what the server says of itself, what was said. Only messages
// and the link change it; pages show what is here. No document in here.

import { Captions } from "./captions.js";

const CATCH_UP = 6; // After a longer break than this many captions, go on with what is said now.

/**
 * The newest `limit` captions of the service and the state of the server, for a reader of `lang` ("" for the server's own
 * choice). `langOf(hello)` is the language that the page shows of what there is.
 */
export class Session {
  #langOf;

  /** "connecting", "open", "lost" or "outdated", as js/shared/connection.js says it. */
  link = "connecting";
  /** The server's mode and state, "" before its `hello`. */
  mode = "";
  state = "";
  lang;
  /** The spoken language, and those that there are captions in. */
  source = "";
  langs = [];
  /** What the server does not like about this page's subscription, in its own words, or "". */
  refusal = "";
  /** The notice that operators have put up: its text by language, {} if none stands. */
  notice = {};
  captions;
  /** The service's name: captions of another one begin with the same ids. */
  name = "";

  constructor({ limit, lang = "", langOf = (hello) => hello.lang }) {
    this.captions = new Captions(limit);
    this.lang = lang;
    this.#langOf = langOf;
  }

  get isBlank() {
    return this.state === "blank";
  }

  /** Whether somebody is speaking, as far as one can know. */
  get isSpeaking() {
    return this.link === "open" && this.state === "speech";
  }

  /** Take what the connection says of itself. False if that is nothing new: each vain attempt to connect says "lost". */
  setLink(link) {
    const hasChanged = link !== this.link;
    this.link = link;
    return hasChanged;
  }

  /**
   * Take a message. What it was, for the page to act on; null for what is none of a display's business:
   *   `{type: "hello", missed}`            `missed`: so much is new that the page begins with the newest captions
   *   `{type: "earlier"}`                  older captions have come
   *   `{type: "caption", caption, isNew, isNewlyFinal, before}`    `isNew`: it changed what there is to show;
   *                                        `before`: its last final version, if it was resumed since
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
    this.langs = [...new Set([...(hello.targets ?? []), hello.source])]; // Where several are spoken, that is a target too.
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

/** Counts the time without speech, and says when it has been `ms` milliseconds; 0: never. */
export class SilenceTimer {
  #ms;
  #onSilence;
  #timer = 0;

  constructor(ms, onSilence) {
    this.#ms = ms;
    this.#onSilence = onSilence;
  }

  /** Begin to count again, unless somebody is speaking: then wait for the next call. */
  restart(isSpeaking) {
    clearTimeout(this.#timer);
    if (this.#ms > 0 && !isSpeaking) this.#timer = setTimeout(this.#onSilence, this.#ms);
  }
}
