// A caption in the document, or a block of captions (js/shared/blocks.js). The element lives as
// long as its id: a final replaces its partial in place.

import { textFor } from "../shared/captions.js";
import { setLanguage } from "../shared/i18n.js";
import { gapOf } from "../shared/words.js";
import { CaptionText, setText } from "./caption_text.js";

/** A list item with the text (stable part solid, the rest dimmed) and the source text under it. */
export class CaptionView {
  #text = document.createElement("p");
  #under = document.createElement("p");
  #source = document.createTextNode("");
  #parts = new Map();
  #shown = null;
  #lang = "";

  element = document.createElement("li");

  constructor(id) {
    this.#text.className = "text";
    this.#under.className = "source";
    this.#under.append(this.#source);
    this.element.className = "caption";
    this.element.dataset.id = id;
    this.element.append(this.#text, this.#under);
  }

  /** Show this revision of a caption or block to a reader of `lang`. */
  update(item, lang) {
    const captions = item.captions ?? [item];
    // Most messages change only the last caption: comparing objects skips the others.
    if (lang === this.#lang && captions.length === this.#shown?.length) {
      if (captions.every((caption, at) => caption === this.#shown[at])) return;
    }
    this.#shown = captions;
    this.#lang = lang;
    this.#hold(captions);
    captions.forEach((caption, at) => {
      const text = textFor(caption, lang);
      // `stable` counts target text; source text that is not final is shown solid.
      const stable = text === caption.source ? Infinity : caption.stable;
      this.#parts.get(caption.id).update(text, { final: caption.final, stable, follows: at > 0 });
    });
    const { source } = captions[0];
    const shown = textFor(captions[0], lang);
    setText(this.#source, shown.lang === source.lang ? "" : captions.map((each) => each.source.text).join(gapOf(source.lang)));
    setLanguage(this.#text, shown.lang);
    setLanguage(this.#under, source.lang);
    this.element.classList.toggle("partial", !item.final);
  }

  /** Keep one part for each caption and no other. */
  #hold(captions) {
    const known = [...this.#parts.keys()].join();
    if (known === captions.map((caption) => caption.id).join()) return;
    const parts = captions.map(({ id }) => [id, this.#parts.get(id) ?? new CaptionText()]);
    this.#parts = new Map(parts);
    this.#text.replaceChildren(...parts.flatMap(([, part]) => part.nodes));
  }
}

/**
 * Make `list` hold exactly `items` (captions or blocks) in order; touch only what differs. `views`
 * maps an id to its view.
 */
export function reconcile(list, views, items, lang) {
  const wanted = new Set(items.map((item) => item.id));
  for (const [id, view] of views) {
    if (wanted.has(id)) continue;
    view.element.remove();
    views.delete(id);
  }
  let next = list.firstElementChild;
  for (const item of items) {
    const view = views.get(item.id) ?? new CaptionView(item.id);
    views.set(item.id, view);
    view.update(item, lang);
    if (view.element === next) next = next.nextElementSibling;
    else list.insertBefore(view.element, next);
  }
}
