// The review page: what a session left in doubt, decided by a person.

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
const SAID = { approved: "Approved", corrected: "Corrected", rejected: "Rejected", open: "Taken back" };
const LOGIN = {
  needed: "",
  wrong: "That is not the token.",
  wait: "Too many wrong tokens. Wait a minute.",
  away: "The review does not answer. Is it still running?",
};

const list = new ReviewList(at("items"), at("item"), act);
// Decisions that were sent and not answered: they go out again when the line is back.
const unconfirmed = new Map();
const connection = new ReviewConnection({
  onMessage: take,
  onLost: () => complain("The connection is lost. What was saved is safe; start the review again if it was stopped."),
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
    at("session").textContent = message.session;
    for (const id of ["tools", "report", "help", "order"]) at(id).hidden = false;
    at("taught").textContent = message.taught ?? "";
    at("taught").hidden = !message.taught;
    list.fill(message.items);
    // They are decided once, however often they are sent.
    for (const decision of unconfirmed.values()) connection.send(decision);
    if (!list.current?.element.contains(document.activeElement)) list.current?.focus();
  } else if (message.type === "item") {
    const own = unconfirmed.delete(message.item.id);
    list.update(message.item);
    // What others decide is shown, and not read out.
    if (own) say(`${SAID[message.item.outcome]}. ${message.left} left.`);
  }
  count(message);
}

function count({ left, pairs }) {
  const done = list.size - left;
  at("progress").max = Math.max(1, list.size);
  at("progress").value = done;
  at("count").textContent = `${done} of ${list.size} reviewed, ${left} left`;
  const kept = `sermon_pairs.jsonl holds ${pairs} ${pairs === 1 ? "pair" : "pairs"}.`;
  at("end").hidden = left > 0;
  at("end").textContent = list.size ? `All is reviewed. ${kept}` : `This session left nothing in doubt. ${kept}`;
}

function act(item, what) {
  if (what === "edit" || what === "play") {
    item[what]();
    return;
  }
  if (what === "approve" && !item.whole) {
    complain("Both texts must say something. Or reject the caption.");
    return;
  }
  const decision = item.decision(what, at("reviewer").value.trim() || "operator");
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
  // At first without a token: the cookie of an earlier visit may still hold.
  let how = await enter(token);
  if (how === "needed" && !token) {
    token = loadToken();
    if (token) how = await enter(token);
  }
  at("login").hidden = how === "in" || how === "none";
  if (how === "none") complain("No review is running here. Start one with: stark-translate review");
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
at("keys").checked = recall("localStorage", KEYS) !== "off";
at("keys").addEventListener("change", () => {
  remember("localStorage", KEYS, at("keys").checked ? "on" : "off");
  document.body.classList.toggle("no-keys", !at("keys").checked);
});
document.body.classList.toggle("no-keys", !at("keys").checked);
document.addEventListener("keydown", onKey);
onToken((token) => letIn(token));
letIn();
