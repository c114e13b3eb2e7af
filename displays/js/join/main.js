// The poster that invites phones: for a screen at the door, or for printing on one page.

import { showAddress } from "../shared/address.js";
import { languageName, PAGE_LANGS, setLanguage, words } from "../shared/i18n.js";
import { recall, remember } from "../shared/storage.js";
import { STEPS } from "./words.js";

const KEYS = { line: "join-line", "wifi-name": "join-wifi", "wifi-password": "join-wifi-password" };
const CROWDED = 3; // The most languages on the poster; more would be too much text.
const WAIT_MS = 400; // The QR code is drawn after typing stops, not at each letter.

const at = (id) => document.getElementById(id);
let waiting = 0;

function textIn(tag, lang, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  setLanguage(element, lang);
  return element;
}

/** Show the invitation in the caption languages that the pages speak, else in English. */
function invite(langs) {
  const spoken = PAGE_LANGS.filter((lang) => langs.some((tag) => tag.split("-")[0] === lang));
  const shown = spoken.length > 0 ? spoken.slice(0, CROWDED) : ["en"];
  at("invitation").replaceChildren(...shown.map((lang) => textIn("span", lang, words(lang).invitation)));
  for (const step of ["wifi", "scan", "read"]) {
    at(`step-${step}`).replaceChildren(...shown.map((lang) => textIn("p", lang, STEPS[lang][step])));
  }
  at("langs").replaceChildren(...langs.map((lang) => textIn("li", lang, languageName(lang))));
}

/** Show the typed text, and store it for the next service. */
function showTyped() {
  for (const [id, key] of Object.entries(KEYS)) remember("localStorage", key, at(id).value);
  at("note").textContent = at("line").value.trim();
  at("note").hidden = at("note").textContent === "";
  const [name, password] = [at("wifi-name").value.trim(), at("wifi-password").value];
  at("wifi").hidden = name === "";
  at("ssid").textContent = name;
  at("password").textContent = password;
  at("password").hidden = password === "";
  clearTimeout(waiting);
  waiting = setTimeout(() => drawWifi(name, password), WAIT_MS);
}

function drawWifi(name, password) {
  if (name) at("wifi-qr").src = `/wifi.svg?${new URLSearchParams({ name, password })}`;
}

for (const [id, key] of Object.entries(KEYS)) {
  at(id).value = recall("localStorage", key);
  at(id).addEventListener("input", showTyped);
}
showTyped();
at("tools").addEventListener("submit", (event) => {
  event.preventDefault();
  window.print();
});

try {
  const answer = await fetch("/address");
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const { address, langs } = await answer.json();
  invite(langs);
  showAddress(address, { link: at("address"), image: at("qr"), problem: at("problem") });
} catch (error) {
  at("problem").textContent = `The address could not be had (${error.message}). Reload this page.`;
  at("problem").hidden = false;
}
