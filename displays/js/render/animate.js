// Moves lines in a glide, not in a jump, so that the eye keeps its place.

const GLIDE_MS = 160;
const running = new WeakMap();

/** Run `change`, then let `list` glide from the old position of its last item to the new one. */
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
