// The dialog that corrects a caption on every screen.

import { setLanguage } from "../shared/i18n.js";
import { make } from "./row.js";
import { shownText, versions } from "./utterances.js";

/** `onSave(id, text)`. */
export class EditDialog {
  #dialog = document.getElementById("edit-dialog");
  #heard = document.getElementById("edit-heard");
  #choices = document.getElementById("edit-choices");
  #text = document.getElementById("edit-text");
  #id = 0;

  constructor(onSave) {
    const form = this.#dialog.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = this.#text.value.trim();
      if (!text) return;
      onSave(this.#id, text);
      this.#dialog.close();
    });
    this.#dialog.querySelector(".cancel").addEventListener("click", () => this.#dialog.close());
    this.#text.addEventListener("keydown", (event) => {
      // A caption is one paragraph, so Enter is free to save; not while an input method composes.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });
  }

  /** Open it with what is on the screens; of a hidden caption with what was. */
  open(entry) {
    const { id, caption, record } = entry;
    const { lang, text } = shownText(entry);
    this.#id = id;
    this.#heard.textContent = record?.text ?? caption.source.text;
    this.#heard.lang = record?.lang ?? caption.source.lang;
    this.#text.value = text;
    setLanguage(this.#text, lang);
    // Another engine's text is one press away.
    const others = versions(entry).filter((version) => version.text !== text);
    this.#choices.replaceChildren(...others.map((version) => this.#choice(version)));
    this.#dialog.showModal();
    this.#text.focus();
    this.#text.setSelectionRange(text.length, text.length); // Most edits change a word.
  }

  #choice({ by, lang, text }) {
    const words = make("span", "text", text);
    words.lang = lang;
    const button = make("button", "choice", make("span", "by", `Take ${by}:`), " ", words);
    button.type = "button";
    button.addEventListener("click", () => {
      this.#text.value = text;
      this.#text.focus();
    });
    return button;
  }
}
