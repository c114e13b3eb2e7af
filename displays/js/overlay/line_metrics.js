// Measures and moves a list in lines. All its text has one line height.

/** The lines of `list`. */
export class LineMetrics {
  #list;

  constructor(list) {
    this.#list = list;
  }

  /** The number of lines of the whole list. */
  total() {
    return this.countIn(this.#list);
  }

  /** The number of lines of an element in the list. */
  countIn(element) {
    return Math.round(element.offsetHeight / this.#px());
  }

  /** Place the list this many lines below the top of its container; negative: above it. */
  moveTo(lines) {
    this.#list.style.top = `${lines * this.#px()}px`;
  }

  #px() {
    return Number.parseFloat(getComputedStyle(this.#list).lineHeight);
  }
}
