// One utterance in the operator's list: the source, and all its translations side by side.

import { splitAt } from "../render/caption_text.js";
import { setLanguage } from "../shared/i18n.js";
import { pieces } from "./marks.js";
import { remarks, standing, versions } from "./utterances.js";
import { fill, isolate, wording } from "./wording.js";

/** A new element with a class, a text and children. */
export function make(tag, className = "", ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/** Milliseconds in readable form: "84 ms", "1.2 s". */
export function time(ms) {
  return isolate(ms < 995 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
}

/** Seconds of audio as a clock: "12:05", "1:02:05". */
export function clock(seconds) {
  const [h, m, s] = [seconds / 3600, (seconds % 3600) / 60, seconds % 60].map((part) => String(Math.floor(part)));
  return h === "0" ? `${m}:${s.padStart(2, "0")}` : `${h}:${m.padStart(2, "0")}:${s.padStart(2, "0")}`;
}

function mark({ text, kind, heard, note }) {
  if (kind === "plain") return text;
  const element = make("span", `mark ${kind}`, text);
  element.setAttribute("role", "button");
  element.setAttribute("aria-description", note);
  element.dataset.heard = heard;
  element.dataset.note = note;
  element.tabIndex = -1;
  return element;
}

function sourceOf({ caption, record }) {
  if (record && !(caption?.corrected && caption.source.text)) return { lang: record.lang, nodes: pieces(record).map(mark) };
  return { lang: caption.source.lang, nodes: [caption.source.text] };
}

function target(text, caption) {
  if (!caption || caption.final) return [make("span", "stable", text)];
  const [stable, rest] = splitAt(text, caption.stable);
  return [make("span", "stable", stable), make("span", "rest", rest)];
}

function cell({ by, label, lang, text, workMs, afterMs, alike, onScreen }, caption) {
  const figures = [
    workMs === null ? "" : time(workMs),
    afterMs === null ? "" : fill(wording.ready_after, { time: time(afterMs) }),
    alike === null ? "" : fill(wording.alike, { percent: Math.round(alike * 100) }),
  ];
  const line = make("p", "by", make("span", "engine keeper", by), " ");
  if (!onScreen || !caption.final) line.append(make("span", "try", label), " ");
  if (onScreen) line.append(make("span", "badge", wording.on_screen), " ");
  line.append(make("span", "figures", figures.filter(Boolean).join(" · ")));
  line.title = wording.times_mean;
  const body = make("p", "text", ...target(text, onScreen ? caption : null));
  setLanguage(body, lang);
  return make("div", onScreen ? "version shown" : "version keeper", line, body);
}

/** A list item. Its element lives as long as the utterance; `update` changes only what differs. */
export class Row {
  #when = make("span");
  #number = make("span", "number");
  #heard = make("p", "heard");
  #versions = make("div", "versions");
  #remarks = make("p", "remarks");
  #caption = null;
  #record = null;
  #compare = null;

  constructor(id) {
    this.id = id;
    this.element = make("li", "row", make("p", "when", this.#when, this.#number), make("div", "body", this.#heard, this.#versions, this.#remarks));
    this.element.dataset.id = id;
    this.#number.textContent = fill(wording.number, { id }); // `undo` uses this name
    this.element.tabIndex = -1;
  }

  update(entry) {
    const { caption, record, compare } = entry;
    if (caption === this.#caption && record === this.#record && compare === this.#compare) return;
    const heardAnew = record !== this.#record || !record || caption?.corrected !== this.#caption?.corrected || caption?.corrected;
    [this.#caption, this.#record, this.#compare] = [caption, record, compare];
    this.#when.textContent = clock((record ?? caption).start_s);
    if (heardAnew) {
      const { lang, nodes } = sourceOf(entry);
      setLanguage(this.#heard, lang);
      this.#heard.replaceChildren(...nodes);
      // The new marks do not know yet whether this row is chosen.
      this.choose(this.element.tabIndex === 0);
    }
    this.#versions.replaceChildren(...versions(entry).map((version) => cell(version, caption)));
    this.#remarks.replaceChildren(
      ...remarks(entry).map(({ text, strong }) => make("span", strong ? "remark strong" : "remark", text)),
    );
    this.element.dataset.standing = standing(entry);
  }

  /** Become the row that commands go to and that the Tab key reaches. */
  choose(chosen) {
    this.element.tabIndex = chosen ? 0 : -1;
    if (chosen) this.element.setAttribute("aria-current", "true");
    else this.element.removeAttribute("aria-current");
    for (const element of this.#heard.querySelectorAll(".mark")) element.tabIndex = chosen ? 0 : -1;
  }
}
