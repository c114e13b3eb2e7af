// Lines that have to move glide rather than jump, so that the eye keeps its place.

const GLIDE_MS = 160;
const running = new WeakMap();

/** Run `change`, and let `list` glide from where its last item was to where it is now. */
export function animateMove(list, change) {
  const last = list.lastElementChild;
  const before = last?.getBoundingClientRect().top;
  running.get(list)?.cancel();
  change();
  if (!last?.isConnected || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const distance = before - last.getBoundingClientRect().top;
  if (Math.abs(distance) < 1) return;
  const frames = [{ transform: `translateY(${distance}px)` }, { transform: "none" }];
  running.set(list, list.animate(frames, { duration: GLIDE_MS, easing: "ease-out" }));
}
