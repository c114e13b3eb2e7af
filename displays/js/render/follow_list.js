// The audience page's history: it follows the newest caption until the reader scrolls up, and then stays put.

import { animateMove } from "./animate.js";
import { reconcile } from "./caption_view.js";

const AT_END_PX = 12;

/** Captions in `list`, the last thing inside `scroller`. `onFollow(isFollowing)` hears when the reader leaves or reaches the end. */
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
    // Where it has just become lower nobody has scrolled: the observer, which is asked later, brings it to its end again.
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

  /** Run `mutate`, which changes what is above or below, without moving what the reader looks at. */
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
    // Not by scrollHeight: while the list glides that counts where it comes from as well.
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
