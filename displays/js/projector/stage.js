// The projector's picture: how much text fits, how wide a line is, and how large the type.

import { reconcile } from "../render/caption_view.js";

const SHRINK = [1, 0.85, 0.72, 0.6, 0.5, 0.4];
const SURE = 0.98; // Widths are measured word by word; the browser may need a little more for the line.

export class Stage {
  #stage = document.getElementById("stage");
  #list = document.getElementById("captions");
  #gauge = document.getElementById("gauge");
  #gaugeViews = new Map();
  #pen = document.createElement("canvas").getContext("2d");
  #lines;
  #lang;

  /** Lines can leave at the top one by one: all are of the same height. */
  rolls;

  constructor({ blocks, show, size, lines, margin, place, isLight }, lang) {
    this.#lines = blocks ? Infinity : lines;
    this.#lang = lang;
    this.rolls = !blocks && show !== "both";
    const root = document.documentElement;
    root.classList.toggle("blocks", blocks);
    root.classList.toggle("rolls", this.rolls);
    root.classList.toggle("with-source", show !== "target");
    root.classList.toggle("beside", show === "beside");
    root.classList.toggle("light", isLight);
    root.classList.add(place);
    root.style.setProperty("--scale", size);
    root.style.setProperty("--margin", margin);
    this.cut();
  }

  /** Whether `items` fit on the screen together. */
  holds(items) {
    this.#usual();
    return this.#measured(items);
  }

  /** One caption alone may still be too long for the screen: then its type gives way. True if it need not. */
  fit(items) {
    const factor = SHRINK.find((each) => {
      this.#gauge.style.setProperty("--fit", each);
      return this.#measured(items);
    });
    this.#list.style.setProperty("--fit", factor ?? SHRINK[SHRINK.length - 1]);
    return factor === 1;
  }

  /** The width of a line and a way to measure text, both in pixels. */
  measure() {
    const { fontStyle, fontWeight, fontSize, fontFamily } = this.#usual();
    this.#pen.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
    return { most: this.#list.clientWidth * SURE, widthOf: (text) => this.#pen.measureText(text).width };
  }

  /** Hide everything, or show it again. */
  blank(hidden) {
    this.#stage.classList.toggle("blank", hidden);
  }

  /** The style of type that gives way to nothing. */
  #usual() {
    this.#gauge.style.setProperty("--fit", 1);
    return getComputedStyle(this.#gauge);
  }

  #measured(items) {
    reconcile(this.#gauge, this.#gaugeViews, items, this.#lang());
    return this.#gauge.offsetHeight <= this.#stage.clientHeight;
  }

  /** Make the stage as high as whole lines are, so that none is cut in two when it leaves. */
  cut() {
    // The height set last time would else be taken for all there is.
    this.#stage.style.height = "";
    const linePx = Number.parseFloat(this.#usual().lineHeight);
    const lines = Math.min(this.#lines, Math.floor(this.#stage.clientHeight / linePx));
    if (this.rolls || Number.isFinite(this.#lines)) this.#stage.style.height = `${Math.max(1, lines) * linePx}px`;
  }
}
