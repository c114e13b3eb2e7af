// The review page: a person decides the captions that a session left in doubt.

import { forgetToken, keepToken, loadToken, onToken } from "../shared/operator_token.js";
import { recall, remember } from "../shared/storage.js";
import { enter, ReviewConnection } from "./connection.js";
import { ReviewList } from "./list.js";

const at = (id) => document.getElementById(id);
const REVIEWER = "reviewer";
const KEYS = "review-keys";
const LETTERS = { a: "approve", r: "reject", e: "edit", u: "reopen", p: "play" };
const ARROWS = { ArrowDown: 1, ArrowUp: -1 };
const STEPS = { j: 1, k: -1 };
const SAID = { approved: "It is right", corrected: "Corrected", rejected: "Left out", open: "Taken back" };
const WHEN = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "short" });
const LOGIN = {
  needed: "",
  wrong: "That is not the password.",
  wait: "Too many wrong passwords. Wait a minute.",
  away: "The program does not answer. Is stark-translate review still running?",
};

const list = new ReviewList(at("items"), at("item"), act);
// Decisions without an answer: they are sent again after a reconnect.
const unconfirmed = new Map();
const connection = new ReviewConnection({
  onMessage: take,
  onLost: () => complain("The connection is lost. What was saved is safe. If it was stopped, start it again: stark-translate review"),
  onOut: () => letIn(),
});

function take(message) {
  if (message.type === "error") {
    unconfirmed.delete(message.id);
    const item = list.get(message.id);
    if (item) item.pending = false;
    complain(message.message);
    return;
  }
  complain("");
  if (message.type === "review") {
    // A page that stayed open since last week: its captions and decisions are not of this service.
    if (at("session").title && at("session").title !== message.session) return location.reload();
    at("session").textContent = day(message.session);
    at("session").title = message.session;
    for (const id of ["tools", "report", "help", "order"]) at(id).hidden = false;
    at("taught").textContent = message.taught ?? "";
    at("taught").hidden = !message.taught;
    list.fill(message.items);
    // The server applies a decision once, however often it is sent.
    for (const decision of unconfirmed.values()) connection.send(decision);
    if (!list.current?.element.contains(document.activeElement)) list.current?.focus();
  } else if (message.type === "item") {
    const own = unconfirmed.delete(message.item.id);
    list.update(message.item);
    // Other people's decisions are shown, but not announced.
    if (own) say(`${SAID[message.item.outcome]}. ${message.left} left.`);
  }
  count(message);
}

/** "Sunday, 22 November 2026 at 09:30" for a service's name, "2026-11-22T09-30-00-0600". */
function day(name) {
  const [, date, hour, minute] = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)/.exec(name) ?? [];
  // The church's local time, wherever this page is read.
  return date ? WHEN.format(new Date(`${date}T${hour}:${minute}`)) : name;
}

function count({ left, pairs }) {
  const done = list.size - left;
  at("progress").max = Math.max(1, list.size);
  at("progress").value = done;
  at("count").textContent = `${done} of ${list.size} done, ${left} left`;
  const kept = `The program can learn from ${pairs} ${pairs === 1 ? "caption" : "captions"} of this service.`;
  at("end").hidden = left > 0;
  at("end").textContent = list.size ? `All are done. ${kept}` : `This service left nothing in doubt. ${kept}`;
}

function act(item, what) {
  if (what === "edit" || what === "play") {
    item[what]();
    return;
  }
  if (what === "approve" && !item.whole) {
    complain("Both texts must say something. Or leave the caption out.");
    return;
  }
  const decision = item.decision(what, at("reviewer").value.trim() || "Volunteer");
  unconfirmed.set(item.id, decision);
  item.pending = true;
  connection.send(decision);
  list.advance(item, what);
}

function onKey(event) {
  const field = event.target.closest("textarea, input:not([type=checkbox])");
  if (field) onKeyInField(event, field);
  else if (!event.ctrlKey && !event.metaKey && !event.altKey && !at("tools").hidden) onShortcut(event);
}

function onKeyInField({ key, ctrlKey, metaKey }, field) {
  const item = list.current;
  if (!item?.element.contains(field)) return;
  if (key === "Escape") item.focus();
  else if (key === "Enter" && (ctrlKey || metaKey)) act(item, "approve");
}

function onShortcut(event) {
  const letter = at("keys").checked ? event.key.toLowerCase() : "";
  const step = ARROWS[event.key] ?? STEPS[letter];
  const what = LETTERS[letter];
  const item = what === "reopen" ? list.toReopen() : list.current;
  if (step) list.move(step);
  else if (!what || (what !== "reopen" && isDisabled(item, what))) return;
  else if (item) act(item, what);
  event.preventDefault();
}

function isDisabled(item, what) {
  return !item || Boolean(item.element.querySelector(`.${what}`)?.disabled);
}

function complain(text) {
  at("problem").textContent = text;
  at("problem").hidden = !text;
}

function say(text) {
  at("said").textContent = text;
}

async function letIn(given = "") {
  let token = given;
  // First without a token: the cookie of an earlier visit may still be valid.
  let how = await enter(token);
  if (how === "needed" && !token) {
    token = loadToken();
    if (token) how = await enter(token);
  }
  at("login").hidden = how === "in" || how === "none";
  if (how === "none") complain("Captions in doubt are not shown here. Start it on the machine: stark-translate review");
  if (how === "in") {
    if (token) keepToken(token);
    complain("");
    connection.open();
    return;
  }
  if (how === "wrong") forgetToken();
  at("login-problem").textContent = LOGIN[how];
  at("token").focus();
}

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  letIn(at("token").value.trim());
});
at("reviewer").value = recall("localStorage", REVIEWER);
at("reviewer").addEventListener("change", () => remember("localStorage", REVIEWER, at("reviewer").value.trim()));
at("show-all").addEventListener("change", () => {
  list.showAll = at("show-all").checked;
});
at("keys").checked = recall("localStorage", KEYS) === "on";
at("keys").addEventListener("change", () => {
  remember("localStorage", KEYS, at("keys").checked ? "on" : "off");
  document.body.classList.toggle("no-keys", !at("keys").checked);
});
document.body.classList.toggle("no-keys", !at("keys").checked);
document.addEventListener("keydown", onKey);
onToken((token) => letIn(token));
letIn();
