// A button that must be held for a second: its effect is irreversible. A stray key does nothing.

export const HOLD_MS = 1000;
const holds = new Map();

/** The hold of a button, undefined for a button that is pressed as usual. */
export function holdOf(button) {
  const hold = holds.get(button);
  return hold?.needed() ? hold : undefined;
}

/** `needed()`: must it be held now? `act()`: pressed or held; `tooShort()`: released too early. */
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
    button.addEventListener("contextmenu", (event) => event.preventDefault()); // From a long touch.
    button.addEventListener("click", (event) => this.#onClick(event));
    // Switching to another window releases the button, and no other event reports that.
    addEventListener("blur", () => this.end());
  }

  /** Start the hold; `done` is called when it was long enough. */
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
    event.preventDefault(); // Otherwise the key also clicks.
    if (!event.repeat) this.start();
  }

  // A pointer's hold is over by now. Other clicks come from screen readers, which name the button.
  #onClick(event) {
    const held = this.#acted;
    this.#acted = false;
    if (held || (event.detail > 0 && this.needed())) return;
    this.act();
  }
}
