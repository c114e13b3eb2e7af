// A doubtful final that is kept off the screens for a moment, or stands there with a mark: the operator finds it right,
// changes it or removes it.

import { setLanguage } from "../shared/i18n.js";
import { loadToken } from "../shared/operator_token.js";
import { button } from "./controls.js";
import { notify } from "./notify.js";
import { Sound } from "./sound.js";
import { fill, wording } from "./wording.js";

const TICK_MS = 100;

/**
 * `server` has the languages of this page; `command(name, fields)` sends what becomes of it; `onChange({ id, caption,
 * isForeign })` opens it for another text, which is foreign where it is in another language than this page's.
 */
export class Doubtful {
  #bar = document.getElementById("doubt");
  #title = document.getElementById("doubt-title");
  #source = document.getElementById("doubt-source");
  #target = document.getElementById("doubt-target");
  #approve = document.querySelector("#approve .word");
  #hear = document.getElementById("hear");
  #sound = new Sound(() => this.#draw());
  #held = new Map();
  #marked = null;
  #isAble = false;

  constructor(server, command, onChange) {
    document.getElementById("approve").addEventListener("click", () => command("approve", this.#about));
    document.getElementById("remove").addEventListener("click", () => command("hide", this.#about));
    document.getElementById("change").addEventListener("click", () => {
      const { id, source, target, revision } = this.#now;
      const isForeign = ![server.lang, server.source].includes(target.lang);
      onChange({ id, caption: { source, target, revision, final: true }, record: null, compare: null, isForeign });
    });
    this.#hear.addEventListener("click", () => this.#listen());
    setInterval(() => this.#held.size > 0 && this.#draw(), TICK_MS);
  }

  /** The oldest that is kept back, else the newest that stands with a mark, if any. */
  get #now() {
    const [first] = this.#held.values();
    return first ?? this.#marked;
  }

  /** What a command is about: the version that the operator sees. */
  get #about() {
    const { id, target, revision } = this.#now;
    return { id, lang: target.lang, revision };
  }

  /** Take a `doubtful`; with no time left it is kept back no longer. */
  put({ id, source, target, revision, left_s: leftS }) {
    const key = `${id} ${target.lang}`; // Each language is judged by itself.
    if (leftS > 0) this.#held.set(key, { id, source, target, revision, untilMs: performance.now() + 1000 * leftS });
    else this.#held.delete(key);
    this.#draw();
  }

  /** Take a `caption`: one that is marked is asked about until three more are final. */
  caption({ id, final, source, target, revision, doubtful }) {
    const marked = this.#marked;
    if (doubtful) this.#marked = { id, source, target, revision };
    else if (marked && (marked.id === id || (final && id > marked.id + 2))) this.#marked = null;
    this.#draw();
  }

  /** Take a `console`: all that is kept back now. */
  reset(messages) {
    this.#held.clear();
    for (const message of messages) this.put(message);
    this.#draw();
  }

  /** Begin anew with the captions of another language, which come again: what is kept back is in any. */
  changeLanguage() {
    this.#marked = null;
  }

  /** Have nothing any more: it was taken off the record. */
  forget() {
    this.#held.clear();
    this.#marked = null;
    this.#sound.stop();
    this.#draw();
  }

  /** Play what was said, or stop that. */
  async #listen() {
    if (this.#sound.isPlaying) return this.#sound.stop();
    const { id, target } = this.#now;
    const isThere = await this.#sound.play(`/do/hear?id=${id}&lang=${encodeURIComponent(target.lang)}`, loadToken());
    if (!isThere) notify(wording.hear_gone, "bad");
  }

  render(isAble) {
    this.#isAble = isAble;
    this.#draw();
  }

  #draw() {
    const now = this.#now;
    this.#bar.hidden = !(this.#isAble && now);
    if (this.#bar.hidden) return;
    this.#say(this.#title, words(now));
    button(this.#hear, true, this.#sound.isPlaying ? wording.hear_stop : wording.hear);
    this.#say(this.#approve, now.untilMs === undefined ? wording.approve : wording.show);
    this.#say(this.#source, now.source.text);
    this.#say(this.#target, now.target.text);
    setLanguage(this.#source, now.source.lang);
    setLanguage(this.#target, now.target.lang);
  }

  #say(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }
}

function words({ untilMs }) {
  if (untilMs === undefined) return wording.doubt_marked;
  const seconds = Math.max(0, untilMs - performance.now()) / 1000;
  return fill(wording.doubt_held, { seconds: Math.ceil(seconds) });
}
