// The overlay for OBS, vMix and others: captions on a transparent page, and nothing else. All there is to choose is
// in the address: js/overlay/options.js lists it, and /obs?help shows it.

import { Captions } from "../shared/captions.js";
import { Connection } from "../shared/connection.js";
import { pickLang, words } from "../shared/i18n.js";
import { condition, tone } from "../shared/status.js";
import { readOptions } from "./options.js";
import { Roll } from "./rollup.js";
import { dress } from "./style.js";
import { Turns } from "./turns.js";

const HISTORY = 60;
const CATCH_UP = 6; // After a longer break than this many captions, go on with what is said now.
const FADE_MS = 400; // as in css/obs.css

const query = new URLSearchParams(location.search);
const { values, wrong } = readOptions(query);
for (const sentence of wrong) console.warn(sentence); // for whoever looks; nothing of it goes on air

const root = document.documentElement;
const [stage, hole, list, status, statusText] = ["stage", "window", "captions", "status", "status-text"].map((id) =>
  document.getElementById(id),
);
const captions = new Captions(HISTORY);
const server = { link: "connecting", mode: "", state: "", lang: values.lang, refusal: "" };
const anchor = { top: 0, middle: 0.5, bottom: 1 }[values.position];
const presenter = new (values.mode === "blocks" ? Turns : Roll)({ list, height: values.lines, anchor });
let cleared = new Map(); // what the window was emptied of: id, and whether it was final
let connection = null; // none in the preview
let advanceTimer = 0;
let hideTimer = 0;
let waiting = false; // there is text that has not been seen yet
let painted = 0;

dress(root, values);

/** What there is to show, oldest first. Of what was cleared away, only a final that came after it. */
function wanted() {
  return captions.visible(server.lang).filter(({ id, final }) => {
    if (cleared.get(id) === true) return false;
    return final || (values.partials !== "none" && !cleared.has(id));
  });
}

/** Show what may be seen by now, and come back when there is more. */
function advance() {
  clearTimeout(advanceTimer);
  const all = wanted();
  const waitMs = presenter.advance(all, server.lang, performance.now());
  const waited = waiting;
  waiting = waitMs !== Infinity;
  if (waiting) advanceTimer = setTimeout(advance, waitMs);
  else if (waited) hold();
  const newest = Math.max(0, ...all.map(({ seq }) => seq));
  if (waiting || newest <= painted || server.state === "blank") return;
  connection?.painted(newest);
  painted = newest;
}

/** Start again to count the time without speech, once all that was said has been seen. */
function hold() {
  clearTimeout(hideTimer);
  hole.classList.remove("away");
  const speaking = server.link === "open" && server.state === "speech";
  if (values.hide > 0 && !speaking && !waiting) hideTimer = setTimeout(fade, values.hide * 1000);
}

/** Nobody has spoken for a while: let the text go, and then forget it. */
function fade() {
  hole.classList.add("away");
  cleared = new Map(captions.visible(server.lang).map(({ id, final }) => [id, final]));
  hideTimer = setTimeout(empty, FADE_MS);
}

function empty() {
  presenter.reset();
  advance();
  hole.classList.remove("away");
}

function tell() {
  const name = condition(server);
  stage.classList.toggle("blank", server.state === "blank");
  root.lang = pickLang([server.lang, ...navigator.languages]);
  status.hidden = values.states === "0" || name === "listening" || name === "blank";
  status.dataset.tone = tone(name);
  statusText.textContent = (server.link === "lost" && server.refusal) || (words(root.lang)[name] ?? "");
}

function greet(hello) {
  const lang = values.show === "source" ? hello.source : hello.lang;
  Object.assign(server, { mode: hello.mode, state: hello.state, lang, refusal: "" });
  captions.greet(hello);
  if (hello.resumed && hello.captions.length <= CATCH_UP) return;
  painted = hello.seq;
  // In a pause the newest captions may be of any age: no old text goes on air.
  cleared = new Map();
  if (hello.state === "speech") {
    presenter.jump(wanted(), server.lang, performance.now());
  } else {
    cleared = new Map(wanted().map(({ id, final }) => [id, final]));
    presenter.reset();
  }
}

/** The server does not like the address: said in the console, and on the page if it is to show states. */
function refuse({ message }) {
  console.warn(message);
  server.refusal = message;
}

function receive(message) {
  if (message.type === "hello") greet(message);
  else if (message.type === "caption") captions.put(message);
  else if (message.type === "status") Object.assign(server, { mode: message.mode, state: message.state });
  else if (message.type === "error") refuse(message);
  else return;
  tell();
  advance();
  hold();
}

if (query.has("help") || query.has("demo")) {
  server.link = "open";
  const { preview } = await import("./preview.js");
  preview(query, receive);
} else {
  connection = new Connection({
    kind: "obs",
    lang: values.lang,
    onMessage: receive,
    onLink: (link) => {
      const changed = link !== server.link;
      server.link = link;
      tell();
      if (changed) hold(); // Each vain attempt to reconnect says "lost" again.
    },
  });
}
new ResizeObserver(advance).observe(stage);
