// Screen readers read each final once. Partials would sound like stammering.

import { newIn } from "../shared/words.js";

const KEPT = 3;

const log = document.getElementById("announcer");

/** Announce caption `id` in its language. If it continues `before`, announce only the new text. */
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

/** Remove announced captions that are not in `captions`: a screen reader could go back to them. */
export function forgetHidden(captions) {
  const shown = new Set(captions.map(({ id }) => String(id)));
  for (const line of log.querySelectorAll("p")) if (!shown.has(line.dataset.id)) line.remove();
}

/** Remove all announced text. */
export function clearAnnouncer() {
  log.replaceChildren();
}
