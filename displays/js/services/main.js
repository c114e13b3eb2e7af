// Past services: the list, and one service to read in either language and to download.

import { Archive } from "../shared/archive.js";
import { languageName, pickLang, setLanguage, translatePage, words } from "../shared/i18n.js";
import { onToken } from "../shared/operator_token.js";
import { choice, day, entry, texts } from "./view.js";
import { FOR_PEOPLE, nameOf } from "./words.js";

const at = (id) => document.getElementById(id);

const lang = pickLang(navigator.languages);
// The date format of the reader's region: "es-MX" where the page's language is "es".
const locale = navigator.languages.find((tag) => tag.split("-")[0] === lang) ?? lang;
const table = words(lang);
const archive = new Archive();
let formats = [];
let shown = null;
let which = "both";

function complain(text) {
  at("problem").textContent = text;
  at("problem").hidden = !text;
}

/** Show one part of the page: "login", "overview" or "service"; "" shows none. */
function reveal(part) {
  for (const id of ["login", "overview", "service"]) at(id).hidden = id !== part;
}

function refused(error) {
  if (error.why !== "needed" && error.why !== "wrong") {
    complain(error.message);
    return;
  }
  complain("");
  reveal("login");
  // Before any input, the page explains how to sign in, not that something is wrong.
  at("login-problem").textContent = error.why === "wrong" ? error.message : "";
  if (error.why === "wrong") at("token").focus();
}

/** `isStill()`: the reader still wants this. A late answer must not replace what was opened since. */
async function showList(isStill) {
  const found = await archive.list();
  formats = FOR_PEOPLE.filter((form) => found.formats.includes(form));
  at("services").replaceChildren(...found.services.map((service) => entry(service, locale)));
  at("none").hidden = found.services.length > 0;
  if (!isStill()) return;
  document.title = table.services;
  reveal("overview");
}

async function showService(name, isStill) {
  if (formats.length === 0) await showList(isStill); // Opened by a link to a service.
  let found = await archive.read(name);
  const { target, targets } = found.service;
  const own = navigator.languages.map((tag) => tag.split("-")[0]).find((tag) => targets.includes(tag)) ?? target;
  if (own !== target) found = await archive.read(name, own);
  if (!isStill()) return;
  shown = found;
  at("day").textContent = day(shown.service, locale);
  document.title = at("day").textContent;
  if (shown.left_out.length > 0) complain(`${table.left_out} ${shown.left_out.join("; ")}`);
  reveal("service");
  showText();
  at("day").focus();
  window.scrollTo(0, 0);
}

function showText() {
  const { source, target, targets } = shown.service;
  const captions = targets.filter((tag) => tag !== source).map((tag) => ["target", tag, languageName(tag)]);
  const sides = [["both", target, table.as_both], ["source", target, languageName(source)], ...captions];
  at("sides").replaceChildren(
    ...sides.map(([side, tag, text]) => choice(text, side === which && tag === target, () => turnTo(side, tag))),
  );
  at("formats").replaceChildren(...formats.map((form) => choice(nameOf(form, lang), null, (button) => save(form, button))));
  at("text").classList.toggle("both", which === "both");
  at("text").replaceChildren(...texts(shown, which));
}

/** Show a side of the service with the captions in the language `tag`. */
async function turnTo(side, tag) {
  try {
    if (tag !== shown.service.target) shown = await archive.read(shown.service.name, tag);
    which = side;
    showText();
    at("sides").querySelector("[aria-pressed=true]").focus();
  } catch (error) {
    refused(error);
  }
}

/** Create a file and start its download in the browser. */
async function save(form, button) {
  button.disabled = true;
  try {
    const { bytes, name } = await archive.file(shown.service.name, which, form, shown.service.target);
    const address = URL.createObjectURL(bytes);
    Object.assign(document.createElement("a"), { href: address, download: name }).click();
    // Later: the browser reads it after this call.
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    complain("");
  } catch (error) {
    refused(error);
  } finally {
    button.disabled = false;
  }
}

async function route() {
  const { hash } = location;
  const isStill = () => location.hash === hash;
  try {
    const name = decodeURIComponent(hash.slice(1));
    complain("");
    await (name ? showService(name, isStill) : showList(isStill));
  } catch (error) {
    if (isStill()) refused(error);
  }
}

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  archive.use(at("token").value.trim());
  route();
});
setLanguage(document.documentElement, lang);
translatePage(document, table);
onToken((token) => {
  archive.use(token);
  if (!at("login").hidden) route();
});
window.addEventListener("hashchange", route);
route();
