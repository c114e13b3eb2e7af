// The list of captions: visible items, the current item, and the decisions made here.

import { ReviewItem } from "./item.js";

export class ReviewList {
  #list;
  #template;
  #act;
  #items = new Map();
  #current = null;
  #decided = [];
  #showAll = false;

  constructor(list, template, act) {
    this.#list = list;
    this.#template = template;
    this.#act = act;
  }

  /** Take all items of the server. Known items keep the text that is being typed in them. */
  fill(items) {
    for (const item of items) {
      const known = this.#items.get(item.id);
      if (known) known.update(item);
      else this.#add(item);
    }
    this.#show();
    if (!this.#current) this.#choose(this.#shown()[0] ?? null);
  }

  /** Handle a decided item, from here or another page. */
  update(item) {
    this.#items.get(item.id)?.update(item);
    this.#show();
  }

  get size() {
    return this.#items.size;
  }

  get current() {
    return this.#current;
  }

  get(id) {
    return this.#items.get(id);
  }

  set showAll(showAll) {
    this.#showAll = showAll;
    this.#show();
  }

  /** Move by `by` visible items. */
  move(by) {
    const shown = this.#shown();
    const next = shown[Math.max(0, Math.min(shown.length - 1, shown.indexOf(this.#current) + by))];
    next?.focus();
  }

  /** After a decision: remember it, and go to the next open item, or to the first open one. */
  advance(from, what) {
    if (what === "reopen") {
      from.focus();
      return;
    }
    this.#decided = this.#decided.filter((id) => id !== from.id);
    this.#decided.push(from.id);
    const every = [...this.#items.values()];
    const at = every.indexOf(from);
    const next = [...every.slice(at + 1), ...every.slice(0, at)].find((item) => item.left);
    if (next) next.focus();
  }

  /** The item for "take back": the current one if it is decided, else the last one decided here. */
  toReopen() {
    if (this.#current && !this.#current.open) return this.#current;
    let item;
    do item = this.#items.get(this.#decided.pop());
    while (item?.open);
    return item ?? null;
  }

  #add(item) {
    const made = new ReviewItem(item, this.#template, { act: this.#act, choose: (chosen) => this.#choose(chosen) });
    this.#items.set(item.id, made);
    this.#list.append(made.element);
  }

  #choose(item) {
    this.#current?.element.removeAttribute("aria-current");
    this.#current = item;
    item?.element.setAttribute("aria-current", "true");
  }

  #shown() {
    return [...this.#items.values()].filter((item) => !item.element.hidden);
  }

  #show() {
    for (const item of this.#items.values()) {
      // The focused item stays until the focus moves on: removing it loses the keyboard's position.
      const hasFocus = item.element.contains(document.activeElement);
      item.element.hidden = !(this.#showAll || item.open || hasFocus);
    }
  }
}
