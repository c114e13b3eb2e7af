// After a correction: may what was put right hold for the rest of the service? One key says yes.

import { bare } from "./rule_dialog.js";

const OFFER_MS = 30_000;
const MOST_WORDS = 4; // More is another sentence, and no word that is misheard again.

/** What a correction of one stretch of words says: `{heard, write}`; null where it says nothing that could hold. */
export function ruleOf(before, after) {
  const [old, now] = [before, after].map((text) => text.split(/\s+/).filter(Boolean));
  let start = 0;
  while (start < Math.min(old.length, now.length) && bare(old[start]) === bare(now[start])) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && bare(old.at(-1 - end)) === bare(now.at(-1 - end))) end += 1;
  const [heard, write] = [old, now].map((all) => all.slice(start, all.length - end));
  const rule = { heard: bare(heard.join(" ")), write: bare(write.join(" ")) };
  const isShort = [heard, write].every((all) => all.length > 0 && all.length <= MOST_WORDS);
  return isShort && rule.heard && rule.write && rule.heard !== rule.write ? rule : null;
}

/** The line that offers it; `onHold(heard, write)` where it is taken. */
export class HoldOffer {
  #bar = document.getElementById("hold");
  #text = document.getElementById("hold-text");
  #rule = null;
  #timer = 0;

  constructor(onHold) {
    document.getElementById("hold-rule").addEventListener("click", () => {
      const { heard, write } = this.#rule;
      this.#close();
      onHold(heard, write);
    });
    document.getElementById("hold-not").addEventListener("click", () => this.#close());
  }

  /** Offer what a correction says, if it says anything that could hold. */
  offer(before, after) {
    this.#rule = ruleOf(before, after);
    clearTimeout(this.#timer);
    this.#bar.hidden = this.#rule === null;
    if (this.#rule === null) return;
    this.#text.textContent = `“${this.#rule.heard}” is “${this.#rule.write}” for the rest of the service?`;
    this.#timer = setTimeout(() => this.#close(), OFFER_MS);
  }

  #close() {
    clearTimeout(this.#timer);
    this.#bar.hidden = true;
  }
}
