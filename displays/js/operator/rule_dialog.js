// The dialog that adds a rule to the church's dictionary: "when ... is heard, write ...".

import { setLanguage } from "../shared/i18n.js";
import { gapOf, piecesOf } from "../shared/words.js";
import { showChanges } from "./changes.js";
import { make } from "./row.js";
import { fill, wording } from "./wording.js";

// In letters: such short words occur in many sentences, and a rule changes all of them.
const SHORT = 3;
const RULE = {
  "rule-title": wording.rule_title,
  "rule-help": wording.rule_help,
  "rule-heard-label": wording.rule_heard,
  "rule-write-label": wording.rule_write,
};
const TERM = {
  "rule-title": wording.term_title,
  "rule-help": wording.term_help,
  "rule-heard-label": wording.term_heard,
  "rule-write-label": wording.term_write,
};

/** Why these two cannot be a rule (`stops`), or a warning: `{text, stops}`. */
export function objection(heard, write) {
  if (!heard || !write) return { text: "", stops: true };
  if (![heard, write].every((words) => /[\p{L}\p{N}]/u.test(words))) return { text: wording.rule_no_words, stops: true };
  if (heard === write) return { text: wording.rule_same, stops: true };
  if (!heard.includes(" ") && heard.length <= SHORT) {
    return { text: fill(wording.rule_short, { heard, write }), stops: false };
  }
  return { text: "", stops: false };
}

/** The words of a rule: without punctuation around them. A vowel sign or tone at the end stays. */
export function bare(text) {
  return text.replace(/\s+/g, " ").replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}\p{M}]+$/gu, "");
}

/** Where `words` are in `raw`: index of the first and last word; [-1, -1] if they are not there. */
export function place(raw, words, lang = "") {
  const [all, wanted] = [raw, words].map((text) => piecesOf(text, lang).map((piece) => bare(piece.text)));
  const at = wanted.length ? all.findIndex((_, from) => wanted.every((word, index) => word === all[from + index])) : -1;
  return at < 0 ? [-1, -1] : [at, at + wanted.length - 1];
}

/**
 * `onAdd(heard, write)` adds a rule. `onHold(say, write, instead)` sets a translation for this
 * service; both return false if there is no connection. Before that, `onAsk(say, write, instead)` requests a preview of the changes.
 */
export class RuleDialog {
  #dialog = document.getElementById("rule-dialog");
  #chips = document.getElementById("rule-words");
  #heard = document.getElementById("rule-heard");
  #write = document.getElementById("rule-write");
  #problem = document.getElementById("rule-problem");
  #add = this.#dialog.querySelector(".primary");

  #also = document.getElementById("rule-also");
  #none = document.getElementById("rule-none");
  #isTerm = false;
  #gap = " ";
  #instead = "";
  #asked = "";
  #onAsk;

  constructor({ onAdd, onHold, onAsk }) {
    this.#onAsk = onAsk;
    this.#dialog.querySelector(".cancel").addEventListener("click", () => this.#dialog.close());
    this.#dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      const [heard, write] = this.#rule();
      if (objection(heard, write).stops) return;
      if (this.#isTerm ? onHold(heard, write, this.#instead) : onAdd(heard, write)) this.#dialog.close();
      else this.#problem.textContent = wording.not_done;
    });
    for (const input of [this.#heard, this.#write]) input.addEventListener("input", () => this.#judge());
    this.#chips.addEventListener("click", (event) => this.#touch(event.target.closest("button")));
  }

  /** Open with the recognized text and `words` of it (or "") filled in; `file` keeps the rules. */
  open({ lang, text: raw }, words, file) {
    document.getElementById("rule-file").textContent = file;
    this.#show(false, raw, words, lang);
    for (const field of [this.#chips, this.#heard, this.#write]) setLanguage(field, lang);
    (words ? this.#write : this.#heard).focus();
  }

  /** Open to set a word's translation: `write`, not `heard`. `guess` suggests the source word. */
  openTerm({ lang, text }, guess, { heard: instead, write: written }) {
    this.#instead = instead;
    this.#show(true, text, guess, lang);
    for (const field of [this.#chips, this.#heard]) setLanguage(field, lang);
    this.#write.value = written;
    this.#judge();
    this.#heard.focus();
  }

  /** Handle the `preview` of the last request. */
  preview({ heard, write, refused, captions }) {
    if (this.#isTerm && this.#dialog.open && this.#asked === `${heard}\n${write}`) showChanges(this.#also, this.#none, refused ? null : captions);
  }

  #show(isTerm, raw, words, lang) {
    this.#isTerm = isTerm;
    this.#gap = gapOf(lang);
    this.#asked = "";
    const says = isTerm ? TERM : RULE;
    for (const [id, text] of Object.entries(says)) document.getElementById(id).textContent = text;
    document.getElementById("rule-kept").hidden = isTerm;
    this.#chips.replaceChildren(...piecesOf(raw, lang).map(({ text }) => chip(text)));
    this.#take(...place(raw, words, lang));
    this.#heard.value = bare(words);
    this.#write.value = "";
    this.#judge();
    this.#dialog.showModal();
  }

  #rule() {
    return [this.#heard, this.#write].map((input) => input.value.replace(/\s+/g, " ").trim());
  }

  #judge() {
    const [heard, write] = this.#rule();
    const { text, stops } = objection(heard, write);
    this.#problem.textContent = text;
    this.#add.disabled = stops;
    const asks = this.#isTerm && !stops ? `${heard}\n${write}` : "";
    if (asks && asks === this.#asked) return;
    this.#asked = asks;
    showChanges(this.#also, this.#none, null);
    if (asks) this.#onAsk(heard, write, this.#instead);
  }

  /** The first touch takes a word, the next extends to it; a touch on taken words starts again. */
  #touch(touched) {
    if (!touched) return;
    const all = [...this.#chips.children];
    const at = all.indexOf(touched);
    const taken = all.flatMap((one, index) => (one.getAttribute("aria-pressed") === "true" ? [index] : []));
    const again = taken.includes(at);
    const [from, to] = again || !taken.length ? [at, at] : [Math.min(at, taken[0]), Math.max(at, taken.at(-1))];
    this.#take(from, to);
    this.#heard.value = bare(all.slice(from, to + 1).map((one) => one.textContent).join(this.#gap));
    this.#judge();
  }

  /** Mark the words of a range as taken. */
  #take(from, to) {
    [...this.#chips.children].forEach((one, index) => one.setAttribute("aria-pressed", index >= from && index <= to));
  }
}

function chip(word) {
  const button = make("button", "chip", word);
  button.type = "button";
  return button;
}
