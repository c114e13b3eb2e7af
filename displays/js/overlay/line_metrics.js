// A list whose text is all in lines of one height, measured and moved in lines.

/** The lines of `list`. */
export class LineMetrics {
  #list;

  constructor(list) {
    this.#list = list;
  }

  /** How many lines the whole list has. */
  total() {
    return this.countIn(this.#list);
  }

  /** How many lines an element in it has. */
  countIn(element) {
    return Math.round(element.offsetHeight / this.#px());
  }

  /** Let the list begin so many lines below the top of what holds it; negative: above it. */
  moveTo(lines) {
    this.#list.style.top = `${lines * this.#px()}px`;
  }

  #px() {
    return Number.parseFloat(getComputedStyle(this.#list).lineHeight);
  }
}
