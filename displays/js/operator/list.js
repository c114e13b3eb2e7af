// The operator's list of utterances. Touch or arrow keys choose one. Without a choice it is the
// newest complete one that was shown: nobody can aim at text that still changes.

import { FollowList } from "../render/follow_list.js";
import { piecesOf } from "../shared/words.js";
import { Row } from "./row.js";
import { bare } from "./rule_dialog.js";

const AIMED_AT = ".row:not([data-standing=partial], [data-standing=filtered])";
const STEPS = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };

function heardAround(node) {
  return (node?.nodeType === Node.TEXT_NODE ? node.parentElement : node)?.closest?.(".heard");
}

/** The selected text, if it is all inside one row's source text: `{id, text}`. */
export function selectedWords(selection = getSelection()) {
  const text = selection.toString().replace(/\s+/g, " ").trim();
  const heard = heardAround(selection.anchorNode);
  if (!text || !heard || heard !== heardAround(selection.focusNode)) return null;
  return { id: Number(heard.closest(".row").dataset.id), text };
}

/** The text node and offset at a point; [null, 0] for none. */
function caretAt(x, y) {
  const found = document.caretPositionFromPoint?.(x, y);
  if (found) return [found.offsetNode, found.offset];
  const range = document.caretRangeFromPoint?.(x, y); // older browsers
  return range ? [range.startContainer, range.startOffset] : [null, 0];
}

/** The source word at a point; "" if there is none or the word occurs twice. */
export function touchedWord(heard, x, y) {
  const [node, at] = caretAt(x, y);
  if (node?.nodeType !== Node.TEXT_NODE || !heard?.contains(node)) return "";
  let end = 0;
  const piece = piecesOf(node.data, heard.lang).find(({ text }) => {
    end = node.data.indexOf(text, end) + text.length;
    return at <= end;
  });
  const [word, all] = [bare(piece?.text ?? ""), heard.textContent];
  return all.indexOf(word) === all.lastIndexOf(word) ? word : "";
}

/** `onChoose()`: the chosen row or words changed; `onOpen()`: edit the chosen row. */
export class List {
  #rows = new Map();
  #tools = document.getElementById("tools");
  #isPressed = false;
  #scroller = document.getElementById("scroller");
  #list = document.getElementById("rows");
  #followList;
  #onChoose;
  #onOpen;
  #pinned = null;

  /** The id of the row that commands go to, or null; and the selected words of its source or "". */
  chosen = null;
  words = "";

  constructor({ onChoose, onOpen }) {
    this.#onChoose = onChoose;
    this.#onOpen = onOpen;
    const live = document.getElementById("live");
    this.#followList = new FollowList(this.#scroller, this.#list, (isFollowing) => (live.hidden = isFollowing));
    live.addEventListener("click", () => {
      this.#pin(null);
      this.#followList.toEnd();
    });
    // Otherwise a new caption would move a button away from under the finger.
    this.#tools.addEventListener("pointerdown", () => (this.#isPressed = true));
    for (const type of ["pointerup", "pointercancel"]) document.addEventListener(type, () => (this.#isPressed = false));
    this.#list.addEventListener("click", (event) => this.#clicked(event));
    this.#list.addEventListener("dblclick", (event) => !event.target.closest(".heard, .tools") && this.#onOpen());
    this.#list.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("keydown", (event) => this.#arrow(event));
    this.#list.addEventListener("focusin", (event) => {
      if (!event.target.matches(":focus-visible")) return; // A press on the newest must not pin it.
      const id = this.#idOf(event.target);
      if (id !== this.chosen) this.#pin(id);
    });
    document.addEventListener("selectionchange", () => {
      const found = selectedWords();
      if (found) this.#pin(found.id, found.text);
    });
  }

  /** Show exactly these entries without moving what the operator reads. */
  render(entries) {
    this.#followList.change(() => this.#reconcile(entries));
    // A button must never act on a row that has scrolled out of view.
    if (this.#pinned !== null && !this.#inSight(this.#pinned)) this.#pinned = null;
    this.#choose();
  }

  #inSight(id) {
    const row = this.#rows.get(id)?.element;
    if (!row || !this.#followList.isFollowing) return row !== undefined;
    return row.offsetTop + row.offsetHeight > this.#scroller.scrollTop; // after the glide
  }

  #reconcile(entries) {
    const wanted = new Set(entries.map(({ id }) => id));
    for (const [id, row] of this.#rows) {
      if (wanted.has(id)) continue;
      row.element.remove();
      this.#rows.delete(id);
    }
    let next = this.#list.firstElementChild;
    for (const entry of entries) {
      const row = this.#rows.get(entry.id) ?? new Row(entry.id);
      this.#rows.set(entry.id, row);
      row.update(entry);
      if (row.element === next) next = next.nextElementSibling;
      else this.#list.insertBefore(row.element, next);
    }
  }

  /** Pin a row; null follows the newest. */
  #pin(id, words = "") {
    this.#pinned = id;
    this.words = words;
    this.#choose();
  }

  #choose() {
    if (this.#isPressed && this.#tools.isConnected) return;
    const newest = [...this.#list.querySelectorAll(AIMED_AT)].at(-1);
    const id = this.#pinned ?? (newest ? this.#idOf(newest) : null);
    if (id !== this.chosen) {
      this.#rows.get(this.chosen)?.choose(false);
      this.#rows.get(id)?.choose(true);
      if (this.#pinned === null) this.words = "";
      this.chosen = id;
    }
    this.#placeTools();
    this.#onChoose();
  }

  /** Move the buttons to the chosen caption without moving what the operator reads. */
  #placeTools() {
    const body = this.#rows.get(this.chosen)?.element.querySelector(".body");
    const isThere = body ? this.#tools.parentElement === body : this.#tools.hidden;
    if (isThere && this.#tools.isConnected) return;
    const place = () => {
      (body ?? this.#scroller.parentElement).append(this.#tools);
      this.#tools.hidden = body === undefined;
    };
    if (!this.#followList.isFollowing) this.#followList.change(place);
    else {
      place();
      this.#followList.toEnd();
    }
  }

  /** The list is visible again: new rows are at its end. */
  shown() {
    if (this.#followList.isFollowing) this.#followList.toEnd();
  }

  #clicked(event) {
    const row = event.target.closest(".row");
    if (!row || selectedWords() || event.target.closest(".tools")) return;
    const mark = event.target.closest(".mark");
    const heard = event.target.closest(".heard");
    this.#pin(this.#idOf(row), mark?.dataset.heard ?? touchedWord(heard, event.clientX, event.clientY));
  }

  #key(event) {
    if (event.key === "Enter" && event.target.matches(".row")) this.#onOpen();
    else if ((event.key === "Enter" || event.key === " ") && event.target.matches(".mark")) event.target.click();
    else return;
    event.preventDefault();
  }

  /** The arrow keys move through the list, also right after the page opens. */
  #arrow(event) {
    const { key, target, ctrlKey, altKey, metaKey } = event;
    // A field of a dialog that has just closed keeps the focus until the next frame.
    const isGone = target.checkVisibility?.() === false;
    const ours = target === document.body || isGone || this.#list.contains(target);
    if (!(key in STEPS) || !ours || this.#rows.size === 0 || ctrlKey || altKey || metaKey) return;
    this.#step(STEPS[key]);
    event.preventDefault();
  }

  #step(by) {
    const all = [...this.#list.children];
    const at = all.indexOf(this.#rows.get(this.chosen)?.element);
    this.#pin(by === Infinity ? null : this.#idOf(all[Math.min(all.length - 1, Math.max(0, at + by))]));
    const chosen = this.#rows.get(this.chosen)?.element;
    chosen?.focus({ preventScroll: true });
    if (by === Infinity) this.#followList.toEnd();
    else chosen?.scrollIntoView({ block: "nearest" });
  }

  #idOf(element) {
    return Number(element.closest(".row").dataset.id);
  }
}
