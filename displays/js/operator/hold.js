// A button that has to be held for a second, since what it does cannot be taken back: a stray key or touch does nothing.

export const HOLD_MS = 1000;
const holds = new Map();

/** The hold of a button, undefined for one that is pressed as usual. */
export function holdOf(button) {
  const hold = holds.get(button);
  return hold?.needed() ? hold : undefined;
}

/** `needed()`: whether it must be held just now; `act()` when it was pressed, or held; `tooShort()` when it was let go. */
export function needHold(button, does) {
  holds.set(button, new Hold(button, does));
}

class Hold {
  #button;
  #timer = 0;
  #acted = false;

  constructor(button, { needed, act, tooShort }) {
    Object.assign(this, { needed, act, tooShort });
    this.#button = button;
    button.addEventListener("pointerdown", (event) => {
      this.#acted = false;
      if (event.button === 0 && this.needed()) this.start(() => (this.#acted = true));
    });
    for (const type of ["pointerup", "pointerleave", "pointercancel"]) button.addEventListener(type, () => this.end());
    button.addEventListener("keydown", (event) => this.#onKey(event));
    button.addEventListener("keyup", () => this.end());
    button.addEventListener("contextmenu", (event) => event.preventDefault()); // What a long touch brings up.
    button.addEventListener("click", (event) => this.#onClick(event));
    // Who goes to another window lets go there, and no other event tells.
    addEventListener("blur", () => this.end());
  }

  /** Begin to hold; `done` is called when it was held for long enough. */
  start(done = () => {}) {
    if (this.#timer || this.#button.disabled) return;
    this.#button.classList.add("holding");
    this.#timer = setTimeout(() => {
      done();
      this.#stop();
      this.act();
    }, HOLD_MS);
  }

  end() {
    if (!this.#timer) return;
    this.#stop();
    this.tooShort();
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#button.classList.remove("holding");
  }

  #onKey(event) {
    if (!["Enter", " "].includes(event.key) || !this.needed()) return;
    event.preventDefault(); // Else the key presses it as well.
    if (!event.repeat) this.start();
  }

  // Of a pointer, it has been held or let go by now. A press without one is that of a screen reader, which names the button.
  #onClick(event) {
    const held = this.#acted;
    this.#acted = false;
    if (held || (event.detail > 0 && this.needed())) return;
    this.act();
  }
}
