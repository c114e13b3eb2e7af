// Text that nobody speaks: a typed caption, or a notice that stays on every screen.

import { setLanguage } from "../shared/i18n.js";
import { noticeFor } from "../shared/notice.js";
import { make } from "./row.js";
import { fill, LANG, wording } from "./wording.js";

const NAMES = new Intl.DisplayNames([LANG], { type: "language" });

/** The dialog for both, and the line with the current notice. `command(name, fields)` sends one. */
export class Typing {
  #dialog = document.getElementById("type-dialog");
  #form = this.#dialog.querySelector("form");
  #text = document.getElementById("type-text");
  #langs = document.getElementById("type-langs");
  #opener = document.getElementById("type");
  #notice = document.getElementById("standing");
  #noticeText = document.getElementById("standing-text");
  #clear = document.getElementById("clear-notice");
  #source = "";
  #targets = [];
  #texts = {};

  constructor(command) {
    this.#opener.addEventListener("click", () => this.#open());
    this.#clear.addEventListener("click", () => command("clear-notice"));
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = this.#text.value.trim();
      const { kind, lang } = this.#form.elements;
      if (!text) return;
      if (command(kind.value, { text, lang: lang.value })) this.#text.value = "";
      this.#dialog.close();
    });
    this.#dialog.querySelector(".cancel").addEventListener("click", () => this.#dialog.close());
    this.#langs.addEventListener("change", () => this.#followLanguage());
    this.#text.addEventListener("keydown", (event) => {
      // A caption is one paragraph, so Enter sends, except while an input method composes.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#form.requestSubmit();
    });
  }

  /** Handle `hello`: the languages and the current notice. */
  onHello({ source, targets, notice }) {
    const langs = [...new Set([source, ...targets])];
    const [before, now] = [[...new Set([this.#source, ...this.#targets])], langs].map((each) => each.join());
    [this.#source, this.#targets, this.#texts] = [source, targets, notice?.texts ?? {}];
    // Only if changed: a chosen language must survive a lost connection.
    if (before !== now) this.#langs.replaceChildren(...langs.map((lang) => choice(lang, lang === source)));
  }

  /** Handle `notice`. */
  onNotice({ texts }) {
    this.#texts = texts;
  }

  render(isAble) {
    const { lang, text } = noticeFor(this.#texts, this.#targets[0] ?? "");
    this.#notice.hidden = text === "";
    this.#noticeText.textContent = text;
    setLanguage(this.#noticeText, lang);
    this.#clear.disabled = this.#opener.disabled = !isAble;
  }

  #open() {
    this.#followLanguage();
    this.#dialog.showModal();
    this.#text.focus();
  }

  #followLanguage() {
    setLanguage(this.#text, this.#form.elements.lang.value);
  }
}

function choice(lang, isSource) {
  const input = make("input");
  Object.assign(input, { type: "radio", name: "lang", value: lang, defaultChecked: isSource });
  const says = fill(isSource ? wording.type_source : wording.type_target, { language: NAMES.of(lang) });
  return make("label", "switch", input, says);
}
