// A doubtful final that is held back for a moment, or shown with a mark: the operator approves,
// changes or removes it.

import { setLanguage } from "../shared/i18n.js";
import { button } from "./controls.js";
import { notify } from "./notify.js";
import { Sound } from "./sound.js";
import { fill, wording } from "./wording.js";

const TICK_MS = 100;

/**
 * `server` has the languages of this page, `operator` its token; `command(name, fields)` sends the decision;
 * `onChange({ id, caption, isForeign })` opens the editor; foreign: not this page's languages.
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

  constructor(server, operator, command, onChange) {
    document.getElementById("approve").addEventListener("click", () => command("approve", this.#about));
    document.getElementById("remove").addEventListener("click", () => command("hide", this.#about));
    document.getElementById("change").addEventListener("click", () => {
      const { id, source, target, revision } = this.#now;
      const isForeign = ![server.lang, server.source].includes(target.lang);
      onChange({ id, caption: { source, target, revision, final: true }, record: null, compare: null, isForeign });
    });
    this.#hear.addEventListener("click", () => this.#listen(operator.token));
    setInterval(() => this.#held.size > 0 && this.#draw(), TICK_MS);
  }

  /** The oldest final that is held back, else the newest one with a mark, if any. */
  get #now() {
    const [first] = this.#held.values();
    return first ?? this.#marked;
  }

  /** The revision that the operator sees, as command fields. */
  get #about() {
    const { id, target, revision } = this.#now;
    return { id, lang: target.lang, revision };
  }

  /** Handle `doubtful`; with no time left, it is no longer held back. */
  put({ id, source, target, revision, left_s: leftS }) {
    const key = `${id} ${target.lang}`; // Each language is judged separately.
    if (leftS > 0) this.#held.set(key, { id, source, target, revision, untilMs: performance.now() + 1000 * leftS });
    else this.#held.delete(key);
    this.#draw();
  }

  /** Handle `caption`: ask about a marked one until three later ones are final. */
  caption({ id, final, source, target, revision, doubtful, start_s: startS, end_s: endS }) {
    const marked = this.#marked;
    if (doubtful) this.#marked = { id, source, target, revision, startS, endS };
    else if (marked && (marked.id === id || (final && id > marked.id + 2))) this.#marked = null;
    this.#draw();
  }

  /** Handle `console`: it lists all that is held back now. */
  reset(messages) {
    this.#held.clear();
    for (const message of messages) this.put(message);
    this.#draw();
  }

  /** All captions are sent again, such as in another language; held-back finals stay. */
  startAgain() {
    this.#marked = null;
  }

  /** Drop what was taken off the record. Finals are held back for seconds only: all of them. */
  forget({ from_s: fromS, to_s: toS }) {
    this.#held.clear();
    if (this.#marked && this.#marked.endS > fromS && this.#marked.startS < toS) this.#marked = null;
    this.#sound.stop();
    this.#draw();
  }

  /** Play the audio of the caption, or stop it. */
  async #listen(token) {
    if (this.#sound.isPlaying) return this.#sound.stop();
    const { id, target } = this.#now;
    const isThere = await this.#sound.play(`/do/hear?id=${id}&lang=${encodeURIComponent(target.lang)}`, token);
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
