// The audience page's history: follows the newest caption until the reader scrolls up, then stays.

import { animateMove } from "./animate.js";
import { reconcile } from "./caption_view.js";

const AT_END_PX = 12;

/** Captions in `list`, last in `scroller`. `onFollow(isFollowing)` is called on a change of it. */
export class FollowList {
  #scroller;
  #list;
  #onFollow;
  #views = new Map();
  #height = 0;

  isFollowing = true;

  constructor(scroller, list, onFollow) {
    this.#scroller = scroller;
    this.#list = list;
    this.#onFollow = onFollow;
    // A lower height is no scrolling by the reader: the observer runs later and scrolls to the end.
    scroller.addEventListener("scroll", () => scroller.clientHeight === this.#height && this.#checkFollowing(), { passive: true });
    new ResizeObserver(() => {
      this.#height = scroller.clientHeight;
      if (this.isFollowing) this.toEnd();
    }).observe(scroller);
  }

  /** Show exactly these captions to a reader of `lang`. */
  render(captions, lang) {
    this.change(() => reconcile(this.#list, this.#views, captions, lang));
  }

  /** Run `mutate`, which changes content above or below, without moving what the reader sees. */
  change(mutate) {
    if (this.isFollowing) {
      animateMove(this.#list, () => {
        mutate();
        this.toEnd();
      });
      return;
    }
    const seen = this.#inView().map((element) => [element, element.getBoundingClientRect().top]);
    mutate();
    const still = seen.find(([element]) => element.isConnected);
    if (still) this.#scroller.scrollTop += still[0].getBoundingClientRect().top - still[1];
  }

  /** Go to the newest caption and follow again. */
  toEnd() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#checkFollowing();
  }

  #checkFollowing() {
    // Not by scrollHeight: during a glide it also includes the start position.
    const { scrollTop, clientHeight } = this.#scroller;
    const { offsetTop, offsetHeight } = this.#list;
    const isFollowing = offsetTop + offsetHeight - scrollTop - clientHeight < AT_END_PX;
    if (isFollowing === this.isFollowing) return;
    this.isFollowing = isFollowing;
    this.#onFollow(isFollowing);
  }

  #inView() {
    const { top, bottom } = this.#scroller.getBoundingClientRect();
    return [...this.#list.children].filter((element) => {
      const box = element.getBoundingClientRect();
      return box.bottom > top && box.top < bottom;
    });
  }
}
