// What a marked word says of itself: on hover, on focus and when touched.

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
    // A finger leaves as it is lifted, and has asked for it just now.
    root.addEventListener("pointerout", (event) => event.pointerType === "mouse" && this.#hide());
    root.addEventListener("focusout", () => this.#hide());
    // Captured, since scrolling does not bubble.
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
    // Its first line: a mark may go over two.
    const box = element.getClientRects()[0];
    const { offsetWidth: width, offsetHeight: height } = this.#tip;
    const above = box.top - height - GAP_PX;
    const left = Math.min(box.left, document.documentElement.clientWidth - width - GAP_PX);
    this.#tip.style.left = `${Math.max(GAP_PX, left)}px`;
    this.#tip.style.top = `${above > 0 ? above : box.bottom + GAP_PX}px`;
    element.setAttribute("aria-describedby", "tip");
  }

  /** Be gone where the word is: one that is taken away under a finger tells nobody. */
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

/** Explain every element with `data-note` inside `root`. */
export function explainMarks(root) {
  return new Tooltip(root);
}
