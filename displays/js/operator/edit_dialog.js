// The dialog that corrects a caption on every screen: what was heard, which is translated again, or its translation.

import { setLanguage } from "../shared/i18n.js";
import { make } from "./row.js";
import { heardText, shownText, versions } from "./utterances.js";
import { fill, wording } from "./wording.js";

/** `onCorrect(id, heard, before)` where the text that was heard is another, `onEdit(id, text, before, lang)` where only the translation is, or is too. */
export class EditDialog {
  #dialog = document.getElementById("edit-dialog");
  #heard = document.getElementById("edit-heard");
  #choices = document.getElementById("edit-choices");
  #text = document.getElementById("edit-text");
  #before = { id: 0, heard: "", text: "", lang: "" };

  constructor({ onCorrect, onEdit }) {
    const form = this.#dialog.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { id, heard, text, lang } = this.#before;
      const now = { heard: this.#heard.value.trim(), text: this.#text.value.trim() };
      const isCorrected = now.heard !== "" && now.heard !== heard;
      if (!isCorrected && !now.text) return;
      if (isCorrected) onCorrect(id, now.heard, heard);
      if (!isCorrected || (now.text && now.text !== text)) onEdit(id, now.text, text, lang);
      this.#dialog.close();
    });
    this.#dialog.querySelector(".cancel").addEventListener("click", () => this.#dialog.close());
    for (const area of [this.#heard, this.#text]) {
      area.addEventListener("keydown", (event) => {
        // A caption is one paragraph, so Enter is free to save; not while an input method composes.
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        form.requestSubmit();
      });
    }
  }

  /** Open it with what was heard, of which `words` (or "") are to be corrected, and what is on the screens. */
  open(entry, words) {
    const { lang, text } = shownText(entry);
    const heard = heardText(entry);
    this.#before = { id: entry.id, heard: heard.text, text, lang };
    this.#heard.value = heard.text;
    setLanguage(this.#heard, heard.lang);
    this.#text.value = text;
    setLanguage(this.#text, lang);
    // Another engine's text is one press away.
    const others = versions(entry).filter((version) => version.text !== text);
    this.#choices.replaceChildren(...others.map((version) => this.#choice(version)));
    this.#dialog.showModal();
    this.#heard.focus();
    const at = words ? heard.text.indexOf(words) : -1;
    // Most edits change a word: the one that was touched, else near the end.
    if (at >= 0) this.#heard.setSelectionRange(at, at + words.length);
    else this.#heard.setSelectionRange(heard.text.length, heard.text.length);
  }

  #choice({ by, lang, text }) {
    const words = make("span", "text", text);
    setLanguage(words, lang);
    const button = make("button", "choice", make("span", "by", fill(wording.edit_take, { by })), " ", words);
    button.type = "button";
    button.addEventListener("click", () => {
      this.#text.value = text;
      this.#text.focus();
    });
    return button;
  }
}
