// The page that invites phones: the address and its QR code, for the wall or to print.

import { showAddress } from "../shared/address.js";
import { PAGE_LANGS, words } from "../shared/i18n.js";
import { recall, remember } from "../shared/storage.js";

const KEY = "join-line";

const [invitation, image, link, note, tools, problem, line] = [
  "invitation", "qr", "address", "note", "tools", "problem", "line",
].map((id) => document.getElementById(id));

invitation.replaceChildren(
  ...PAGE_LANGS.map((lang) => Object.assign(document.createElement("span"), { lang, textContent: words(lang).invitation })),
);

/** Print the line as it was typed, and remember it for the next service. */
function tellLine() {
  note.textContent = line.value.trim();
  note.hidden = note.textContent === "";
  remember("localStorage", KEY, line.value);
}

line.value = recall("localStorage", KEY);
line.addEventListener("input", tellLine);
tellLine();
tools.addEventListener("submit", (event) => {
  event.preventDefault();
  window.print();
});

try {
  const answer = await fetch("/address");
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  showAddress((await answer.json()).address, { link, image, problem });
} catch (error) {
  problem.textContent = `The address could not be had (${error.message}). Reload this page.`;
  problem.hidden = false;
}
