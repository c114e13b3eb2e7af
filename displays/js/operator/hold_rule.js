// After a correction: should it apply for the rest of the service? One key confirms.

import { piecesOf } from "../shared/words.js";
import { showChanges } from "./changes.js";
import { bare } from "./rule_dialog.js";
import { heardText, shownText } from "./utterances.js";
import { fill, wording } from "./wording.js";

const OFFER_MS = 30_000;
const MOST_WORDS = 4; // More words are another sentence, not a word that is misheard again.

/** The rule `{heard, write}` that a correction in `lang` implies; null if it implies none. */
export function ruleOf(before, after, lang) {
  const [old, now] = [before, after].map((text) => piecesOf(text, lang));
  // Cut equal words at both ends: the rest is the change.
  let start = 0;
  while (start < Math.min(old.length, now.length) && isSame(old[start], now[start])) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && isSame(old.at(-1 - end), now.at(-1 - end))) end += 1;
  const [heard, write] = [old, now].map((all) => all.slice(start, all.length - end));
  const rule = { heard: bare(joined(heard)), write: bare(joined(write)) };
  const isShort = [heard, write].every((all) => all.length > 0 && all.length <= MOST_WORDS);
  return isShort && rule.heard && rule.write && rule.heard !== rule.write ? rule : null;
}

function isSame(one, other) {
  return bare(one.text) === bare(other.text);
}

function joined(pieces) {
  return pieces.map(({ text, gap }) => text + gap).join("");
}

/** The word of `said` near the start of a changed translation: a guess that the operator sees. */
export function guessOf({ lang, text: said }, before, { heard }) {
  const share = before.indexOf(heard) / Math.max(1, before.length);
  const words = piecesOf(said, lang);
  return bare(words[Math.min(words.length - 1, Math.round(share * words.length))]?.text ?? "");
}

/** The offer. `command` saves a rule, `ask` previews it, `ruleDialog` asks for the source word. */
export class HoldOffer {
  #bar = document.getElementById("hold");
  #text = document.getElementById("hold-text");
  #command;
  #ask;
  #ruleDialog;
  #take = null;
  #rule = null;
  #timer = 0;
  #none = document.getElementById("hold-none");
  #also = document.getElementById("hold-also");

  constructor(command, ask, ruleDialog) {
    this.#command = command;
    this.#ask = ask;
    this.#ruleDialog = ruleDialog;
    document.getElementById("hold-rule").addEventListener("click", () => {
      this.#close();
      this.#take();
    });
    document.getElementById("hold-not").addEventListener("click", () => this.#close());
  }

  /** Offer a rule for a saved entry. `heard` and `text` are "" if they are as in `before`. */
  offer({ heard, text, lang, before }, entry) {
    if (heard) {
      const rule = this.#begin(before.heard, heard, entry ? heardText(entry).lang : "", (found) => this.#command("hold-rule", found));
      // First show what else it would change; a common word is refused.
      if (rule) this.#ask(rule);
    }
    // A rendering is saved for this page's language; a doubtful final may have another one.
    if (!text || !entry || shownText(entry).lang !== lang) return;
    const said = heardText(entry);
    const rule = this.#begin(before.text, text, lang, (found) => this.#ruleDialog.openTerm(said, guessOf(said, before.text, found), found));
    if (rule) this.#show(null); // The dialog asks for the source word.
  }

  /** Handle `preview`: show what the offered rule would change, unless refused or not this rule. */
  preview({ heard, write, refused, captions }) {
    const isAwaited = this.#rule?.heard === heard && this.#rule.write === write;
    if (isAwaited && refused === "") this.#show(captions);
    this.#ruleDialog.preview({ heard, write, refused, captions });
  }

  /** Drop everything: it was taken off the record. */
  forget() {
    this.#close();
    for (const one of [this.#text, this.#also.lastElementChild]) one.replaceChildren();
  }

  #begin(before, after, lang, take) {
    this.#close();
    const rule = ruleOf(before, after, lang);
    this.#rule = rule;
    this.#take = () => take(rule);
    return rule;
  }

  #show(captions) {
    showChanges(this.#also, this.#none, captions);
    this.#text.textContent = fill(wording.hold_offer, this.#rule);
    this.#bar.hidden = false;
    this.#timer = setTimeout(() => this.#close(), OFFER_MS);
  }

  #close() {
    clearTimeout(this.#timer);
    this.#rule = null;
    this.#bar.hidden = true;
  }
}
