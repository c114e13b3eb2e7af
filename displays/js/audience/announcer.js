// Finals read out to those who listen to the page, each once. Partials would be a stammer.

const KEPT = 3;

const log = document.getElementById("announcer");

/** Have a screen reader say this text in its language; nothing where there is none. */
export function announce({ text, lang }) {
  if (text === "") return;
  const line = document.createElement("p");
  line.lang = lang;
  line.textContent = text;
  log.append(line);
  while (log.childElementCount > KEPT) log.firstElementChild.remove();
}

/** Forget what was read out: a screen reader could go back to it. */
export function clearAnnouncer() {
  log.replaceChildren();
}
