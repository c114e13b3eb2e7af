// The operator's list of utterances: one is chosen, by touch or by the arrow keys; without a choice the newest
// that is complete and was shown, since nobody can aim at what still changes.

import { FollowList } from "../render/follow_list.js";
import { Row } from "./row.js";
import { bare } from "./rule_dialog.js";

const AIMED_AT = ".row:not([data-standing=partial], [data-standing=filtered])";
const STEPS = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };

function heardAround(node) {
  return (node?.nodeType === Node.TEXT_NODE ? node.parentElement : node)?.closest?.(".heard");
}

/** The selected text, if all of it lies in what was heard in one row: `{id, text}`. */
export function selectedWords(selection = getSelection()) {
  const text = selection.toString().replace(/\s+/g, " ").trim();
  const heard = heardAround(selection.anchorNode);
  if (!text || !heard || heard !== heardAround(selection.focusNode)) return null;
  return { id: Number(heard.closest(".row").dataset.id), text };
}

/** The text node and the place in it that lie under a press; [null, 0] where there is none. */
function caretAt(x, y) {
  const found = document.caretPositionFromPoint?.(x, y);
  if (found) return [found.offsetNode, found.offset];
  const range = document.caretRangeFromPoint?.(x, y); // older browsers
  return range ? [range.startContainer, range.startOffset] : [null, 0];
}

/** The word of what was heard that lies under a press; "" where there is none, or where it stands twice. */
export function touchedWord(heard, x, y) {
  const [node, at] = caretAt(x, y);
  if (node?.nodeType !== Node.TEXT_NODE || !heard?.contains(node)) return "";
  const [before, after] = [node.data.slice(0, at).split(/\s/).at(-1), node.data.slice(at).split(/\s/)[0]];
  const [word, all] = [bare(before + after), heard.textContent];
  return all.indexOf(word) === all.lastIndexOf(word) ? word : "";
}

/** `onChoose()` hears that another row or other words are chosen, `onOpen()` that the chosen one is to be edited. */
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

  /** The id of the row that commands go to, or null; and the words of its source that were selected or touched, or "". */
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
    // Else a caption that comes meanwhile would carry a button away from under the finger.
    this.#tools.addEventListener("pointerdown", () => (this.#isPressed = true));
    for (const type of ["pointerup", "pointercancel"]) document.addEventListener(type, () => (this.#isPressed = false));
    this.#list.addEventListener("click", (event) => this.#clicked(event));
    this.#list.addEventListener("dblclick", (event) => !event.target.closest(".heard, .tools") && this.#onOpen());
    this.#list.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("keydown", (event) => this.#arrow(event));
    this.#list.addEventListener("focusin", (event) => {
      if (!event.target.matches(":focus-visible")) return; // A press on the newest must not keep it chosen.
      const id = this.#idOf(event.target);
      if (id !== this.chosen) this.#pin(id);
    });
    document.addEventListener("selectionchange", () => {
      const found = selectedWords();
      if (found) this.#pin(found.id, found.text);
    });
  }

  /** Show these entries and no others, without moving what is being read. */
  render(entries) {
    this.#followList.change(() => this.#reconcile(entries));
    // A button must never act on a row that has been carried out of sight.
    if (this.#pinned !== null && !this.#inSight(this.#pinned)) this.#pinned = null;
    this.#choose();
  }

  #inSight(id) {
    const row = this.#rows.get(id)?.element;
    if (!row || !this.#followList.isFollowing) return row !== undefined;
    return row.offsetTop + row.offsetHeight > this.#scroller.scrollTop; // where it will be once the list has glided
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

  /** Choose a row for good, or with null the newest, whichever that will be. */
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

  /** Bring the buttons to the caption that they are about, without moving what is being read. */
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

  /** The list is on the page again: what is new stands at its end. */
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

  /** From the page as it opens, too, the arrow keys walk the list. */
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
