// One caption of the review list: its texts, the reasons for its review, and the buttons.

import { setLanguage } from "../shared/i18n.js";

// As on the operator's page: below it a word is as likely wrong as right.
const DOUBTFUL = 0.5;
const OUTCOMES = { open: "", approved: "Right", corrected: "Corrected", rejected: "Left out" };
const languages = new Intl.DisplayNames("en", { type: "language", fallback: "code" });

/** Append an element with a text, never markup. */
function put(parent, name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  parent.append(made);
  return made;
}

function twoDigits(number) {
  return String(number).padStart(2, "0");
}

function clock(seconds) {
  const s = Math.floor(seconds);
  return `${Math.floor(s / 3600)}:${twoDigits(Math.floor(s / 60) % 60)}:${twoDigits(s % 60)}`;
}

export class ReviewItem {
  #item;
  #source;
  #target;
  #pending = false;

  /** Create it. `act(item, what)`: approve, reject, reopen, edit; `choose(item)`: it is focused. */
  constructor(item, template, { act, choose }) {
    this.element = template.content.firstElementChild.cloneNode(true);
    this.#source = this.#at(".source-text");
    this.#target = this.#at(".target-text");
    this.#item = item;
    this.#fill();
    this.#write();
    for (const what of ["approve", "reject", "reopen", "edit"])
      this.#at(`.${what}`).addEventListener("click", () => act(this, what));
    for (const field of [this.#source, this.#target]) field.addEventListener("input", () => this.#show());
    this.element.addEventListener("focusin", () => choose(this));
    this.#show();
  }

  get id() {
    return this.#item.id;
  }

  get open() {
    return this.#item.outcome === "open";
  }

  /** Whether it is undecided, and no decision is on its way. */
  get left() {
    return this.open && !this.#pending;
  }

  get name() {
    return `Caption at ${clock(this.#item.start_s)}`;
  }

  /** Take the server's version. Text that is being typed stays. */
  update(item) {
    const typed = this.#changed;
    this.#item = item;
    // Another page's decision must not overwrite what somebody types here.
    if (!typed || !this.open) this.#write();
    this.pending = false;
  }

  set pending(pending) {
    this.#pending = pending;
    this.#show();
  }

  /** The message for decision `what`. */
  decision(what, reviewer) {
    const outcome = { approve: "approved", reject: "rejected", reopen: "open" }[what];
    return { type: "decide", id: this.id, outcome, source: this.#source.value, target: this.#target.value, reviewer };
  }

  /** Whether both fields have text. */
  get whole() {
    return this.#source.value.trim() !== "" && this.#target.value.trim() !== "";
  }

  /** Play its audio from the start, or stop it. */
  play() {
    const sound = this.#at(".sound");
    if (sound.hidden) return;
    if (sound.paused) {
      sound.currentTime = 0;
      sound.play();
    } else sound.pause();
  }

  edit() {
    this.#target.focus();
  }

  focus() {
    this.element.focus();
    this.element.scrollIntoView({ block: "nearest" });
  }

  #at(selector) {
    return this.element.querySelector(selector);
  }

  get #changed() {
    return this.#source.value !== this.#item.source || this.#target.value !== this.#item.target;
  }

  #write() {
    this.#source.value = this.#item.source;
    this.#target.value = this.#item.target;
  }

  #fill() {
    const { start_s, reasons, source_lang, target_lang, engine, words, others, has_sound, sentence } = this.#item;
    this.element.setAttribute("aria-label", this.name);
    this.#at(".time").textContent = clock(start_s);
    for (const reason of reasons) put(this.#at(".reasons"), "li", reason);
    const [said, shown] = this.element.querySelectorAll(".name");
    said.textContent = `Said, in ${languages.of(source_lang)}`;
    shown.textContent = `On the screens, in ${languages.of(target_lang)}`;
    shown.title = engine; // for maintainers
    setLanguage(this.#source, source_lang);
    setLanguage(this.#target, target_lang);
    this.#hear(words, source_lang);
    this.#at(".sentence").hidden = !sentence;
    this.#at(".whole").textContent = sentence ?? "";
    setLanguage(this.#at(".whole"), source_lang);
    this.#at(".sound").hidden = !has_sound;
    if (has_sound) {
      this.#at(".sound").src = `/review/sound/${this.id}.flac`;
      this.#at(".sound").setAttribute("aria-label", `Sound of the ${this.name.toLowerCase()}`);
    }
    for (const other of others) this.#offer(other, target_lang);
  }

  /** Show the recognized words if some of them are in doubt. */
  #hear(words, lang) {
    if (!words.some((word) => word.probability < DOUBTFUL)) return;
    this.#at(".heard").hidden = false;
    const line = this.#at(".words");
    setLanguage(line, lang);
    for (const { text, probability } of words) {
      if (probability < DOUBTFUL) put(line, "mark", text).title = `${Math.round(probability * 100)} % sure`;
      else line.append(text);
      line.append(" ");
    }
  }

  #offer({ engine, model, text }, lang) {
    const row = put(this.#at(".others"), "li", "");
    const name = put(row, "span", "Another translation:");
    name.className = "quiet";
    name.title = model ? `${engine}, ${model}` : engine;
    const offered = put(row, "span", text);
    setLanguage(offered, lang);
    const use = put(row, "button", "Take this");
    use.type = "button";
    use.setAttribute("aria-label", `Take this: ${text}`);
    use.addEventListener("click", () => {
      this.#target.value = text;
      this.#show();
    });
  }

  #show() {
    const { outcome, reviewer } = this.#item;
    this.element.dataset.outcome = outcome;
    this.#at(".outcome").textContent = this.#pending
      ? "Saving …"
      : OUTCOMES[outcome] + (outcome !== "open" && reviewer ? ` by ${reviewer}` : "");
    this.#at(".approve .word").textContent = this.#changed ? "Save" : "It is right";
    this.#at(".approve").disabled = this.#pending || !this.whole || (!this.open && outcome !== "rejected" && !this.#changed);
    this.#at(".reject").disabled = this.#pending || outcome === "rejected";
    this.#at(".reopen").hidden = this.open;
  }
}
