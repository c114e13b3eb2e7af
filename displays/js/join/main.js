// The page that invites phones: the address and its QR code, for the wall or to print.

import { showAddress } from "../shared/address.js";
import { languageName, PAGE_LANGS, setLanguage, words } from "../shared/i18n.js";
import { recall, remember } from "../shared/storage.js";

const KEY = "join-line";

const [invitation, image, link, names, note, tools, problem, line] = [
  "invitation", "qr", "address", "langs", "note", "tools", "problem", "line",
].map((id) => document.getElementById(id));

function textIn(lang, text) {
  const span = document.createElement("span");
  span.textContent = text;
  setLanguage(span, lang);
  return span;
}

/** Invite in those of the languages that can be read on the phones; in English where the pages speak none of them. */
function invite(langs) {
  const spoken = PAGE_LANGS.filter((lang) => langs.some((tag) => tag.split("-")[0] === lang));
  invitation.replaceChildren(
    ...(spoken.length > 0 ? spoken : ["en"]).map((lang) => textIn(lang, words(lang).invitation)),
  );
  names.replaceChildren(...langs.map((lang) => textIn(lang, languageName(lang))));
}

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
  const { address, langs } = await answer.json();
  invite(langs);
  showAddress(address, { link, image, problem });
} catch (error) {
  problem.textContent = `The address could not be had (${error.message}). Reload this page.`;
  problem.hidden = false;
}
