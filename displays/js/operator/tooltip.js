// The note of a marked word: on hover, on focus and on touch.

const GAP_PX = 6;

function note(event) {
  return event.target.closest("[data-note]");
}

class Tooltip {
  #tip = document.getElementById("tip");
  #of = null;

  constructor(root) {
    root.addEventListener("pointerover", (event) => this.#show(note(event)));
    root.addEventListener("focusin", (event) => this.#show(note(event)));
    root.addEventListener("click", (event) => this.#show(note(event)));
    // Only for a mouse: a finger leaves as soon as it is lifted, right after it asked for the note.
    root.addEventListener("pointerout", (event) => event.pointerType === "mouse" && this.#hide());
    root.addEventListener("focusout", () => this.#hide());
    // In the capture phase, because scrolling does not bubble.
    root.addEventListener("scroll", () => this.#hide(), { capture: true, passive: true });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.#hide());
    document.addEventListener("pointerdown", (event) => note(event) === null && this.#hide());
  }

  #show(element) {
    if (element === null) {
      this.#hide();
      return;
    }
    this.#of = element;
    this.#tip.textContent = element.dataset.note;
    this.#tip.hidden = false;
    // The first line: a mark may wrap.
    const box = element.getClientRects()[0];
    const { offsetWidth: width, offsetHeight: height } = this.#tip;
    const above = box.top - height - GAP_PX;
    const left = Math.min(box.left, document.documentElement.clientWidth - width - GAP_PX);
    this.#tip.style.left = `${Math.max(GAP_PX, left)}px`;
    this.#tip.style.top = `${above > 0 ? above : box.bottom + GAP_PX}px`;
    element.setAttribute("aria-describedby", "tip");
  }

  /** Hide the note if its word was removed: removal under a finger fires no event. */
  check() {
    if (this.#of?.isConnected === false) this.#hide();
  }

  #hide() {
    this.#of?.removeAttribute("aria-describedby");
    this.#of = null;
    this.#tip.hidden = true;
    this.#tip.textContent = "";
  }
}

/** Show the note of every element with `data-note` inside `root`. */
export function explainMarks(root) {
  return new Tooltip(root);
}
