// The projector page: the last captions, large, each for as long as it takes to read it.
// js/projector_settings.js has what its address may say.

import { blocksOf, blockText, isShort } from "./blocks.js";
import { Captions } from "./captions.js";
import { condition, tone } from "./condition.js";
import { Connection } from "./connection.js";
import { glide } from "./glide.js";
import { Pacer } from "./pacing.js";
import { pagesOf } from "./pages.js";
import { settings } from "./projector_settings.js";
import { Stage } from "./stage.js";
import { reconcile } from "./view.js";
import { keepAwake } from "./wakelock.js";
import { pickLang, words } from "./words.js";

const HISTORY = 60;
const CATCH_UP = 6; // After a longer break than this many captions, go on with what is said now.
const HOLD_MS = 2500; // So long a word or two wait for the sentence that they could join.

const root = document.documentElement;
const [list, status, statusText] = ["captions", "status", "status-text"].map((id) => document.getElementById(id));
const captions = new Captions(HISTORY);
const views = new Map();
const server = { link: "connecting", mode: "", state: "", lang: settings.lang, refusal: "" };
const stage = new Stage(settings, () => server.lang);
const most = settings.blocks ? 1 : settings.captions;
let offered = new Map(); // id to seq of what the pacer has got
let folded = new Map(); // pages by what they were made of: to fold takes its time
let heldSince = new Map(); // id of a short block to when it came
let growing = new Set(); // ids on the screen that were there before they were final
let advanceTimer = 0;
let clearTimer = 0;
let painted = 0;

const pacer = new Pacer({
  textOf: (item) => blockText(item, server.lang),
  fits: (wanted) => wanted.length <= most && stage.holds(wanted),
});

/** What is to be shown of the captions, oldest first: in blocks whole sentences only, long ones in pages. */
function items() {
  const blocks = blocksOf(captions.visible(server.lang), server.lang);
  if (!settings.blocks) return blocks;
  const finals = blocks.filter((block) => block.final);
  // Beside the spoken text a caption stays in one piece, since nobody knows which part of one belongs to which of the other.
  if (settings.show !== "target") return finals;
  const known = folded;
  folded = new Map();
  for (const block of finals) {
    const key = `${block.id} ${block.lastId} ${block.seq} ${server.lang}`;
    folded.set(key, known.get(key) ?? pagesOf(block, server.lang, { ...stage.measure(), lines: settings.lines }));
  }
  return [...folded.values()].flat();
}

/** Milliseconds that `item` still has to wait for another to join it. */
function holdMs(item, nowMs) {
  if (!settings.blocks || !isShort(item, server.lang)) return 0;
  if (!heldSince.has(item.id)) heldSince.set(item.id, nowMs);
  return Math.max(0, heldSince.get(item.id) + HOLD_MS - nowMs);
}

/** Give the pacer what is new. Milliseconds until there may be more, without another message. */
function offer(nowMs) {
  const all = items();
  let waitMs = Infinity;
  const before = offered;
  offered = new Map();
  for (const item of all) {
    const held = before.has(item.id) || item !== all[all.length - 1] ? 0 : holdMs(item, nowMs);
    waitMs = Math.min(waitMs, held || Infinity);
    if (held > 0) continue;
    offered.set(item.id, item.seq);
    if (before.get(item.id) !== item.seq) pacer.offer(item);
  }
  const oldest = all.length > 0 ? all[0].id : Infinity;
  for (const id of before.keys()) {
    // Gone from the middle: hidden, or fewer pages than before. What is older than all was only forgotten.
    if (!offered.has(id) && (id > oldest || captions.get(id))) pacer.remove(id);
  }
  heldSince = new Map([...heldSince].filter(([id]) => !offered.has(id)));
  return waitMs;
}

/** Show what the pacer lets in, and come back when it may let in more. */
function advance() {
  clearTimeout(advanceTimer);
  const nowMs = performance.now();
  const heldMs = offer(nowMs);
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
  const all = items();
  offered = new Map(all.map((item) => [item.id, item.seq]));
  pacer.jump(all, performance.now());
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
  folded.clear(); // Other lines, other pages.
  if (settings.blocks) jump();
  show();
});
document.addEventListener("dblclick", () => root.requestFullscreen());
keepAwake();
