// Corrects a caption on every screen: the source text (translated again) or the translation.

import { setLanguage } from "../shared/i18n.js";
import { make } from "./row.js";
import { heardText, shownText, standing, versions } from "./utterances.js";
import { fill, wording } from "./wording.js";

/** What an operator sees of a caption, and its revision. */
function seen(entry) {
  const { lang, text } = shownText(entry);
  return { heard: heardText(entry).text, text, lang, revision: entry.caption?.revision ?? 0, standing: standing(entry) };
}

/**
 * `onOpen(id)` runs before it opens. `onSave({ id, lang, revision, heard, text, before })` gets
 * the changed texts, "" for an unchanged one; `before` has the texts of that `revision`. It returns
 * false if there is no connection: then the dialog stays.
 */
export class EditDialog {
  #dialog = document.getElementById("edit-dialog");
  #heard = document.getElementById("edit-heard");
  #choices = document.getElementById("edit-choices");
  #text = document.getElementById("edit-text");
  #news = document.getElementById("edit-news");
  #newsSays = document.getElementById("edit-news-says");
  #newsTake = document.getElementById("edit-news-take");
  #newsHeard = document.getElementById("edit-news-heard");
  #newsText = document.getElementById("edit-news-text");
  #save = this.#dialog.querySelector(".primary");
  #saveWord = this.#save.querySelector(".word");
  #onOpen;
  #entry = { id: 0 };
  #before = { heard: "", text: "", lang: "", revision: 0, standing: "" };
  #told = { heard: "", text: "" };
  #isOver = false;
  #sent = null;

  constructor({ onOpen, onSave }) {
    this.#onOpen = onOpen;
    const form = this.#dialog.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { heard, text, lang, revision } = this.#before;
      // As the server writes them, so that it is seen when they are in force.
      const [said, shown] = [this.#heard, this.#text].map(({ value }) => value.trim().replace(/\s+/g, " "));
      const now = { heard: said, text: shown };
      const isCorrected = now.heard !== "" && now.heard !== heard;
      const isEdited = now.text !== "" && (!isCorrected || now.text !== text);
      if (this.#save.disabled || !(isCorrected || isEdited)) return;
      const saved = { id: this.#entry.id, lang, revision, heard: isCorrected ? now.heard : "", text: isEdited ? now.text : "", before: this.#before };
      if (onSave(saved)) {
        this.#sent = { entry: this.#entry, ...now };
        this.#dialog.close();
      } else {
        this.#newsSays.textContent = wording.not_done;
        this.#news.hidden = false;
        this.#newsTake.hidden ||= !this.#isOver;
      }
    });
    this.#dialog.querySelector(".cancel").addEventListener("click", () => this.#dialog.close());
    this.#newsTake.addEventListener("click", () => {
      [this.#heard.value, this.#text.value] = [this.#before.heard, this.#before.text];
      this.#told = this.#before;
      this.#tell("");
      this.#text.focus();
    });
    for (const area of [this.#heard, this.#text]) {
      area.addEventListener("keydown", (event) => {
        // A caption is one paragraph, so Enter saves, except while an input method composes.
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        // The operator may not have read a new change: overwriting it takes the button.
        if (this.#isOver) this.#save.focus();
        else form.requestSubmit();
      });
    }
  }

  /** The id of the caption in the dialog. */
  get id() {
    return this.#entry.id;
  }

  /** Open with the source, with `words` (or "") of it selected, and the translation on screen. */
  open(entry, words) {
    this.#onOpen(entry.id);
    const { lang, text } = shownText(entry);
    const heard = heardText(entry);
    this.#entry = entry;
    this.#before = this.#told = seen(entry);
    this.#heard.value = heard.text;
    setLanguage(this.#heard, heard.lang);
    setLanguage(this.#newsHeard, heard.lang);
    this.#text.value = text;
    setLanguage(this.#text, lang);
    setLanguage(this.#newsText, lang);
    this.#tell("");
    // Another engine's text is one click away.
    const others = versions(entry).filter((version) => version.text !== text);
    this.#choices.replaceChildren(...others.map((version) => this.#choice(version)));
    this.#dialog.showModal();
    this.#heard.focus();
    const at = words ? heard.text.indexOf(words) : -1;
    // Most edits change one word: the touched word, else one near the end.
    if (at >= 0) this.#heard.setSelectionRange(at, at + words.length);
    else this.#heard.setSelectionRange(heard.text.length, heard.text.length);
  }

  /** Handle a change of the caption. An untouched field follows it; an edited field stays. */
  follow(entry) {
    if (!this.#dialog.open || !entry || this.#entry.isForeign) return;
    const now = seen(entry);
    const before = this.#before;
    const isGone = !["partial", "final", "edited"].includes(now.standing);
    const isSame = now.heard === before.heard && now.text === before.text && now.standing === before.standing;
    if (isGone) Object.assign(now, { heard: before.heard, text: before.text });
    if (this.#heard.value === before.heard) this.#heard.value = now.heard;
    if (this.#text.value === before.text) this.#text.value = now.text;
    this.#before = now;
    if (isSame) return;
    if (isGone) this.#tell(wording.not_on_screens);
    else if (now.standing === "partial") this.#tell(wording.edit_goes_on);
    else if (now.heard === this.#told.heard && now.text === this.#told.text) this.#tell("");
    else this.#tell(wording.edit_changed);
  }

  /** Handle a finished command of any operator: if caption `entry` has our text, do not retry. */
  done(name, entry) {
    if (!this.#sent || !["edit", "correct"].includes(name)) return;
    const now = entry && !this.#sent.entry.isForeign ? seen(entry) : this.#sent;
    if (now.heard === this.#sent.heard && (name === "correct" || now.text === this.#sent.text)) this.#sent = null;
  }

  /** The caption is off the record, or of a session that is over: never save or restore its text. */
  forget() {
    this.#sent = null;
    this.#dialog.close();
  }

  /** The save was refused: the caption is `entry` now. Show both texts. False if none was sent. */
  reopen(entry) {
    const sent = this.#sent;
    this.#sent = null;
    if (!sent || this.#dialog.open) return false;
    this.open(sent.entry.isForeign || !entry ? sent.entry : entry, "");
    // A caption in another language is unknown here: the second save replaces it in any case.
    if (sent.entry.isForeign) this.#before.revision = 0;
    [this.#heard.value, this.#text.value] = [sent.heard, sent.text];
    this.#tell(wording.edit_changed);
    return true;
  }

  /** Show what changed in the caption ("" for nothing), with its texts if the typed ones differ. */
  #tell(says) {
    const { heard, text, standing: now } = this.#before;
    const isOther = { heard: this.#heard.value !== heard, text: this.#text.value !== text };
    this.#news.hidden = says === "";
    this.#newsSays.textContent = says;
    this.#newsTake.hidden = !(isOther.heard || isOther.text);
    this.#isOver = says !== "" && (says === wording.not_on_screens || isOther.heard || isOther.text);
    if (says === wording.edit_changed) this.#told = this.#before;
    this.#newsHeard.textContent = isOther.heard ? heard : "";
    this.#newsText.textContent = isOther.text ? text : "";
    this.#save.disabled = now === "partial"; // Its final would never come.
    this.#saveWord.textContent = this.#isOver ? wording.edit_save_over : wording.save;
  }

  #choice({ label, lang, text }) {
    const words = make("span", "text", text);
    setLanguage(words, lang);
    const button = make("button", "choice", make("span", "by", fill(wording.edit_take, { by: label })), " ", words);
    button.type = "button";
    button.addEventListener("click", () => {
      this.#text.value = text;
      this.#text.focus();
    });
    return button;
  }
}
