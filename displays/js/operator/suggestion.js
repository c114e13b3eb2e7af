// A verse that the last words may quote: the operator shows or dismisses it.

/** `command(name, fields)` sends the decision. */
export class Suggestion {
  #bar = document.getElementById("verse");
  #ref = document.getElementById("verse-ref");
  #text = document.getElementById("verse-text");
  #now = {};

  constructor(command) {
    for (const name of ["take-verse", "dismiss-verse"]) {
      document.getElementById(name).addEventListener("click", () => command(name, { id: this.#now.id }));
    }
  }

  /** Handle `suggestion`; without `ref` there is none. */
  put(message) {
    this.#now = message;
  }

  render(isAble) {
    const { ref, text, edition } = this.#now;
    this.#bar.hidden = !(isAble && ref);
    this.#ref.textContent = ref ? `${ref}?` : "";
    this.#text.textContent = ref ? `${text} (${edition})` : "";
  }
}
