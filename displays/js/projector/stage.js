// The projector's picture: how much text fits, the line width, and the type size.

import { reconcile } from "../render/caption_view.js";

const SHRINK = [1, 0.85, 0.72, 0.6, 0.5, 0.4, 0.32, 0.25, 0.2, 0.16];
const SURE = 0.98; // Widths are summed per word; the browser's line may be wider.

export class Stage {
  #stage = document.getElementById("stage");
  #list = document.getElementById("captions");
  #gauge = document.getElementById("gauge");
  #gaugeViews = new Map();
  #pen = document.createElement("canvas").getContext("2d");
  #lines;
  #lang;

  /** Lines can leave at the top one by one: all have the same height. */
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

  /** Shrink the type if one caption alone is too long for the screen. True if it keeps its size. */
  fit(items) {
    const factor = SHRINK.find((each) => {
      this.#gauge.style.setProperty("--fit", each);
      return this.#measured(items);
    });
    this.#list.style.setProperty("--fit", factor ?? SHRINK[SHRINK.length - 1]);
    return factor === 1;
  }

  /** The line width and a function that measures text, both in pixels. */
  measure() {
    const { fontStyle, fontWeight, fontSize, fontFamily } = this.#usual();
    this.#pen.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
    return { most: this.#list.clientWidth * SURE, widthOf: (text) => this.#pen.measureText(text).width };
  }

  /** Hide everything, or show it again. */
  blank(hidden) {
    this.#stage.classList.toggle("blank", hidden);
  }

  /** The style of the unshrunk type. */
  #usual() {
    this.#gauge.style.setProperty("--fit", 1);
    return getComputedStyle(this.#gauge);
  }

  #measured(items) {
    reconcile(this.#gauge, this.#gaugeViews, items, this.#lang());
    return this.#gauge.offsetHeight <= this.#stage.clientHeight;
  }

  /** Set the stage's height to whole lines, so that no line is cut in two when it leaves. */
  cut() {
    // Otherwise the last height counts as the available height.
    this.#stage.style.height = "";
    const linePx = Number.parseFloat(this.#usual().lineHeight);
    const lines = Math.min(this.#lines, Math.floor(this.#stage.clientHeight / linePx));
    if (this.rolls || Number.isFinite(this.#lines)) this.#stage.style.height = `${Math.max(1, lines) * linePx}px`;
  }
}
