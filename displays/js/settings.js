// The settings sheet of the audience page.

import { loadPreferences, savePreferences, SIZES, THEMES } from "./preferences.js";
import { languageName, PAGE_LANGS } from "./words.js";

function option(value, text) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text;
  return element;
}

/** `onChange(preferences, name)` hears which preference changed. */
export class Settings {
  #dialog = document.getElementById("settings");
  #onChange;

  preferences = loadPreferences();

  constructor(onChange) {
    this.#onChange = onChange;
    this.#find("page").append(...PAGE_LANGS.map((lang) => option(lang, languageName(lang))));
    document.getElementById("open").addEventListener("click", () => this.#dialog.showModal());
    this.#find("done").addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close(); // The backdrop.
    });
    this.#find("smaller").addEventListener("click", () => this.#resize(-1));
    this.#find("larger").addEventListener("click", () => this.#resize(1));
    this.#find("source").addEventListener("change", (event) => this.set("source", event.target.checked));
    for (const name of ["lang", "page"]) {
      this.#find(name).addEventListener("change", (event) => this.set(name, event.target.value));
    }
    for (const theme of THEMES) {
      this.#find(`theme-${theme}`).addEventListener("change", () => this.set("theme", theme));
    }
    this.#reflect();
  }

  #find(id) {
    return document.getElementById(id);
  }

  #resize(step) {
    const size = this.preferences.size + step;
    this.set("size", Math.min(SIZES.largest, Math.max(SIZES.smallest, size)));
  }

  /** Change one preference and remember it. */
  set(name, value) {
    this.preferences = { ...this.preferences, [name]: value };
    savePreferences(this.preferences);
    this.#reflect();
    this.#onChange(this.preferences, name);
  }

  /** What the server has to offer: caption languages, with the one in use. */
  offer(langs, lang, source) {
    const select = this.#find("lang");
    select.replaceChildren(...langs.map((tag) => option(tag, languageName(tag))));
    select.value = lang;
    // A reader of the spoken language has nothing to add under it.
    this.#find("source").disabled = lang === source;
  }

  /** Show `lang` as the page's own language. */
  spoken(lang) {
    this.#find("page").value = lang;
  }

  #reflect() {
    const { size, theme, source } = this.preferences;
    this.#find("smaller").disabled = size <= SIZES.smallest;
    this.#find("larger").disabled = size >= SIZES.largest;
    this.#find("size").textContent = `${size} / ${SIZES.largest}`;
    this.#find("source").checked = source;
    (this.#find(`theme-${theme}`) ?? this.#find("theme-auto")).checked = true;
  }
}
