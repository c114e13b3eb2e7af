// After a correction: may what was put right hold for the rest of the service? One key says yes.

import { showChanges } from "./changes.js";
import { bare } from "./rule_dialog.js";
import { heardText, shownText } from "./utterances.js";
import { fill, wording } from "./wording.js";

const OFFER_MS = 30_000;
const MOST_WORDS = 4; // More is another sentence, and no word that is misheard again.

/** What a correction of one stretch of words says: `{heard, write}`; null where it says nothing that could hold. */
export function ruleOf(before, after) {
  const [old, now] = [before, after].map((text) => text.split(/\s+/).filter(Boolean));
  // From both ends: what is left between them is what was changed.
  let start = 0;
  while (start < Math.min(old.length, now.length) && bare(old[start]) === bare(now[start])) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && bare(old.at(-1 - end)) === bare(now.at(-1 - end))) end += 1;
  const [heard, write] = [old, now].map((all) => all.slice(start, all.length - end));
  const rule = { heard: bare(heard.join(" ")), write: bare(write.join(" ")) };
  const isShort = [heard, write].every((all) => all.length > 0 && all.length <= MOST_WORDS);
  return isShort && rule.heard && rule.write && rule.heard !== rule.write ? rule : null;
}

/** The word of `said` that stands about where the change of a translation begins: a guess, which the operator sees. */
export function guessOf(said, before, { heard }) {
  const share = before.indexOf(heard) / Math.max(1, before.length);
  const words = said.split(/\s+/).filter(Boolean);
  return bare(words[Math.min(words.length - 1, Math.round(share * words.length))] ?? "");
}

/** The line that offers it. `command(name, fields)` sends a rule, `ask(rule)` what it would change, `ruleDialog` of which word a rendering is one. */
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

  /** Offer what was saved of an entry, if it says anything that could hold: `heard` and `text`, "" where they are as they were `before`. */
  offer({ heard, text, lang, before }, entry) {
    if (heard) {
      const rule = this.#begin(before.heard, heard, (found) => this.#command("hold-rule", found));
      // What else it would change comes first, or that it is a word of every day.
      if (rule) this.#ask(rule);
    }
    // What is held is held for the language of this page; a doubtful final may be in another one.
    if (!text || !entry || shownText(entry).lang !== lang) return;
    const said = heardText(entry);
    const rule = this.#begin(before.text, text, (found) => this.#ruleDialog.openTerm(said, guessOf(said.text, before.text, found), found));
    if (rule) this.#show(null); // The dialog asks of which word it is one.
  }

  /** Take a `preview`: show what the rule that is to be offered would change, unless it is refused or another one. */
  preview({ heard, write, refused, captions }) {
    const isAwaited = this.#rule?.heard === heard && this.#rule.write === write;
    if (isAwaited && refused === "") this.#show(captions);
    this.#ruleDialog.preview({ heard, write, refused, captions });
  }

  /** Have nothing any more: it was taken off the record. */
  forget() {
    this.#close();
    for (const one of [this.#text, this.#also.lastElementChild]) one.replaceChildren();
  }

  #begin(before, after, take) {
    this.#close();
    const rule = ruleOf(before, after);
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
