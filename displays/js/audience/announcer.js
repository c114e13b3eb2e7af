// Finals read out to those who listen to the page, each once. Partials would be a stammer.

import { newIn } from "../shared/words.js";

const KEPT = 3;

const log = document.getElementById("announcer");

/** Have a screen reader say this text of caption `id` in its language; of one that goes on after `before` only what is new. */
export function announce(id, { text, lang }, before = null) {
  const rest = before?.lang === lang ? newIn(text, before.text, lang) : text;
  if (rest === "") return;
  const line = document.createElement("p");
  line.dataset.id = id;
  line.lang = lang;
  line.textContent = rest;
  log.append(line);
  while (log.childElementCount > KEPT) log.firstElementChild.remove();
}

/** Forget what was read out of others than `captions`, which are all there are: a screen reader could go back to it. */
export function forgetHidden(captions) {
  const shown = new Set(captions.map(({ id }) => String(id)));
  for (const line of log.querySelectorAll("p")) if (!shown.has(line.dataset.id)) line.remove();
}

/** Forget all that was read out. */
export function clearAnnouncer() {
  log.replaceChildren();
}
