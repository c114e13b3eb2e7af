// One caption in the document. Its element lives as long as its id: a final replaces its partial in place.

import { textFor } from "./captions.js";

const RIGHT_TO_LEFT = new Set(["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]);

/** The `dir` of a language tag such as "es" or "ar-EG". */
export function direction(lang) {
  return RIGHT_TO_LEFT.has(lang.split("-")[0].toLowerCase()) ? "rtl" : "ltr";
}

/** Split after `count` characters as the server counts them: code points, where JavaScript has UTF-16 units. */
export function splitAt(text, count) {
  let end = 0;
  for (const character of text) {
    if (count-- <= 0) break;
    end += character.length;
  }
  return [text.slice(0, end), text.slice(end)];
}

/** Change a text node only if it says something else: untouched text is neither laid out nor painted again. */
function write(node, text) {
  if (node.data !== text) node.data = text;
}

function paragraph(className, ...children) {
  const element = document.createElement("p");
  element.className = className;
  element.append(...children);
  return element;
}

function speak(element, lang) {
  if (element.lang === lang) return;
  element.lang = lang;
  element.dir = direction(lang);
}

/** A list item with the caption's text (its stable part solid, the rest dimmed) and the source text under it. */
export class CaptionView {
  #stable = document.createTextNode("");
  #rest = document.createTextNode("");
  #source = document.createTextNode("");
  #text;
  #under;
  #caption = null;
  #lang = "";

  constructor(id) {
    const stable = document.createElement("span");
    stable.className = "stable";
    stable.append(this.#stable);
    const rest = document.createElement("span");
    rest.className = "rest";
    rest.append(this.#rest);
    this.#text = paragraph("text", stable, rest);
    this.#under = paragraph("source", this.#source);
    this.element = document.createElement("li");
    this.element.className = "caption";
    this.element.dataset.id = id;
    this.element.append(this.#text, this.#under);
  }

  /** Show this revision to a reader of `lang`. */
  update(caption, lang) {
    if (caption === this.#caption && lang === this.#lang) return;
    this.#caption = caption;
    this.#lang = lang;
    const { source, final } = caption;
    const shown = textFor(caption, lang);
    // `stable` is about the target text; source text that is not final is shown solid.
    const solid = final || shown === source ? Infinity : caption.stable;
    const [stable, rest] = splitAt(shown.text, solid);
    write(this.#stable, stable);
    write(this.#rest, rest);
    write(this.#source, shown.lang === source.lang ? "" : source.text);
    speak(this.#text, shown.lang);
    speak(this.#under, source.lang);
    this.element.classList.toggle("partial", !final);
  }
}

/** Make `list` hold exactly `captions`, in order, touching only what differs. `views` maps id to view. */
export function reconcile(list, views, captions, lang) {
  const wanted = new Set(captions.map((caption) => caption.id));
  for (const [id, view] of views) {
    if (wanted.has(id)) continue;
    view.element.remove();
    views.delete(id);
  }
  let next = list.firstElementChild;
  for (const caption of captions) {
    const view = views.get(caption.id) ?? new CaptionView(caption.id);
    views.set(caption.id, view);
    view.update(caption, lang);
    if (view.element === next) next = next.nextElementSibling;
    else list.insertBefore(view.element, next);
  }
}
