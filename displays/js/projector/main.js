// The projector page: the last captions, large, each for as long as it takes to read it.
// js/projector/settings.js has what its address may say.

import { glide } from "../render/animate.js";
import { reconcile } from "../render/caption_view.js";
import { Pacer } from "../render/pacing.js";
import { blockText } from "../shared/blocks.js";
import { Captions } from "../shared/captions.js";
import { Connection } from "../shared/connection.js";
import { pickLang, words } from "../shared/i18n.js";
import { condition, tone } from "../shared/status.js";
import { keepAwake } from "../shared/wakelock.js";
import { Queue } from "./queue.js";
import { settings } from "./settings.js";
import { Stage } from "./stage.js";

const HISTORY = 60;
const CATCH_UP = 6; // After a longer break than this many captions, go on with what is said now.

const root = document.documentElement;
const [list, status, statusText] = ["captions", "status", "status-text"].map((id) => document.getElementById(id));
const captions = new Captions(HISTORY);
const views = new Map();
const server = { link: "connecting", mode: "", state: "", lang: settings.lang, refusal: "" };
const stage = new Stage(settings, () => server.lang);
const queue = new Queue(settings, () => stage.measure());
const most = settings.blocks ? 1 : settings.captions;
let growing = new Set(); // ids on the screen that were there before they were final
let advanceTimer = 0;
let clearTimer = 0;
let painted = 0;

const pacer = new Pacer({
  textOf: (item) => blockText(item, server.lang),
  fits: (wanted) => wanted.length <= most && stage.holds(wanted),
});

/** Show what the pacer lets in, and come back when it may let in more. */
function advance() {
  clearTimeout(advanceTimer);
  const nowMs = performance.now();
  const heldMs = queue.offer(pacer, captions, server.lang, nowMs);
  const waitMs = Math.min(heldMs, pacer.step(nowMs));
  if (waitMs !== Infinity) advanceTimer = setTimeout(advance, waitMs);
  show();
  const newest = Math.max(0, ...pacer.shown.map((item) => item.seq));
  if (newest > painted && server.state !== "blank") connection.painted(newest);
  painted = Math.max(painted, newest);
}

function show() {
  const shown = pacer.shown;
  growing = new Set(shown.filter((item) => !item.final || growing.has(item.id)).map((item) => item.id));
  // Who saw a long one grow has read the lines that rolled away; one that came at once must be there as a whole.
  const rolled = stage.rolls && shown.length === 1 && growing.has(shown[0].id);
  glide(list, () => {
    const whole = stage.fit(rolled ? [] : shown);
    const tail = whole && stage.rolls ? pacer.tail(most - shown.length) : [];
    reconcile(list, views, [...tail, ...shown], server.lang);
  });
}

/** Start again to count the time without speech. */
function hold() {
  clearTimeout(clearTimer);
  const speaking = server.link === "open" && server.state === "speech";
  if (settings.clearMs === 0 || speaking) return;
  clearTimer = setTimeout(() => {
    pacer.clear();
    advance();
  }, settings.clearMs);
}

function tell() {
  const lang = pickLang([server.lang, ...navigator.languages]);
  const name = condition(server);
  root.lang = lang;
  document.title = words(lang).title;
  status.dataset.tone = tone(name);
  // Nothing but captions while all is well, and on a blanked screen nothing at all.
  status.hidden = name === "listening" || name === "blank";
  // The server says in its own words what it does not like about this page's address.
  statusText.textContent = (server.link === "lost" && server.refusal) || (words(lang)[name] ?? "");
  stage.blank(server.state === "blank");
}

/** Leave what was missed behind, and go on with the newest captions. */
function jump() {
  pacer.jump(queue.take(captions, server.lang), performance.now());
}

function greet(hello) {
  Object.assign(server, { mode: hello.mode, state: hello.state, lang: hello.lang, refusal: "" });
  captions.greet(hello);
  if (hello.resumed && hello.captions.length <= CATCH_UP) return;
  painted = hello.seq;
  jump();
}

function receive(message) {
  if (message.type === "hello") greet(message);
  else if (message.type === "caption") captions.put(message);
  else if (message.type === "status") Object.assign(server, { mode: message.mode, state: message.state });
  else if (message.type === "error") server.refusal = message.message;
  else return;
  tell();
  hold();
  advance();
}

const connection = new Connection({
  kind: "projector",
  lang: server.lang,
  onMessage: receive,
  onLink: (link) => {
    const changed = link !== server.link;
    server.link = link;
    tell();
    if (changed) hold(); // Each vain attempt to reconnect says "lost" again.
  },
});

stage.onResize(() => {
  queue.refold();
  if (settings.blocks) jump();
  show();
});
document.addEventListener("dblclick", () => root.requestFullscreen());
keepAwake();
