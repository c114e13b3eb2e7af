// The settings sheet of the audience page, loaded after the first captions.

import { languageName, PAGE_LANGS } from "../shared/i18n.js";
import { SIZES, THEMES } from "./preferences.js";

function option(value, text) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text;
  return element;
}

/** `onChoose(name, value)` reports a choice; the page then calls `update` with the new state. */
export class Settings {
  #dialog = document.getElementById("settings");
  #onChoose;
  #size = 0;

  constructor(onChoose) {
    this.#onChoose = onChoose;
    this.#find("page").append(...PAGE_LANGS.map((lang) => option(lang, languageName(lang))));
    this.#find("done").addEventListener("click", () => this.#close());
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#close(); // A click on the backdrop.
    });
    this.#find("smaller").addEventListener("click", () => this.#resize(-1));
    this.#find("larger").addEventListener("click", () => this.#resize(1));
    this.#find("source").addEventListener("change", (event) => onChoose("source", event.target.checked));
    for (const name of ["lang", "page"]) {
      this.#find(name).addEventListener("change", (event) => onChoose(name, event.target.value));
    }
    for (const theme of THEMES) {
      this.#find(`theme-${theme}`).addEventListener("change", () => onChoose("theme", theme));
    }
  }

  /** Open the sheet. */
  open() {
    if (this.#dialog.open) return;
    this.#offerPast();
    if (this.#dialog.showModal) this.#dialog.showModal();
    else this.#dialog.setAttribute("open", ""); // Browser older than 2022: the sheet is not modal.
  }

  /**
   * Show the reader's `preferences`, the available `langs`, the `lang` in use, the spoken language
   * `source`, the `page`'s own language, and whether the page can keep the screen on (`awake`).
   */
  update({ preferences, langs, lang, source, page, awake }) {
    this.#size = preferences.size;
    this.#find("smaller").disabled = this.#size <= SIZES.smallest;
    this.#find("larger").disabled = this.#size >= SIZES.largest;
    this.#find("size").textContent = `${this.#size} / ${SIZES.largest}`;
    this.#find("source").checked = preferences.source;
    // A reader of the spoken language has no source text to add.
    this.#find("source").disabled = lang === source;
    (this.#find(`theme-${preferences.theme}`) ?? this.#find("theme-auto")).checked = true;
    const select = this.#find("lang");
    if ([...select.options].map(({ value }) => value).join() !== langs.join()) {
      select.replaceChildren(...langs.map((tag) => option(tag, languageName(tag))));
    }
    select.value = lang;
    this.#find("page").value = page;
    this.#find("asleep").hidden = awake;
  }

  #close() {
    if (this.#dialog.close) this.#dialog.close();
    else this.#dialog.removeAttribute("open");
  }

  /** Show the link to past services if the church lets everybody read them. */
  async #offerPast() {
    try {
      const { past } = await (await fetch("/address")).json();
      this.#find("past").hidden = !past;
    } catch {
      // The network failed: the next opening tries again.
    }
  }

  #find(id) {
    return document.getElementById(id);
  }

  #resize(step) {
    this.#onChoose("size", Math.min(SIZES.largest, Math.max(SIZES.smallest, this.#size + step)));
  }
}
