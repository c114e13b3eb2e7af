// The projector page: the last captions, large, each for as long as it takes to read it.
//   ?show=target|both   the caption alone (default), or the spoken text under it
//   ?clear=20           seconds without speech after which the screen is cleared; 0 never clears it
//   ?captions=3         at most so many captions at a time; fewer where they do not fit
//   ?lang=es            the language; default: the server's target

import { Captions, textFor } from "./captions.js";
import { condition, tone } from "./condition.js";
import { Connection } from "./connection.js";
import { glide } from "./glide.js";
import { Pacer } from "./pacing.js";
import { reconcile } from "./view.js";
import { keepAwake } from "./wakelock.js";
import { pickLang, words } from "./words.js";

const HISTORY = 20;
const CATCH_UP = 6; // After a longer break than this many captions, go on with what is said now.
const SHRINK = [1, 0.85, 0.72, 0.6, 0.5, 0.4];

const query = new URLSearchParams(location.search);

/** The number in the address, or the default where there is none in the range. */
function setting(name, fallback, least, most) {
  const value = Number.parseFloat(query.get(name));
  return value >= least && value <= most ? value : fallback;
}

const most = setting("captions", 3, 1, 6);
const clearMs = setting("clear", 20, 0, 3600) * 1000;

const root = document.documentElement;
const [stage, list, gauge, status, statusText] = ["stage", "captions", "gauge", "status", "status-text"].map((id) =>
  document.getElementById(id),
);
const captions = new Captions(HISTORY);
const views = new Map();
const gaugeViews = new Map();
const server = { link: "connecting", mode: "", state: "", lang: query.get("lang") ?? "", refusal: "" };
let advanceTimer = 0;
let clearTimer = 0;
let painted = 0;

const pacer = new Pacer({
  textOf: (caption) => textFor(caption, server.lang).text,
  fits: (wanted) => {
    if (wanted.length > most) return false;
    reconcile(gauge, gaugeViews, wanted, server.lang);
    return gauge.offsetHeight <= stage.clientHeight;
  },
});

/** Show what the pacer lets in, and come back when it may let in more. */
function advance() {
  clearTimeout(advanceTimer);
  const waitMs = pacer.step(performance.now());
  if (waitMs !== Infinity) advanceTimer = setTimeout(advance, waitMs);
  glide(list, () => {
    reconcile(list, views, pacer.shown, server.lang);
    shrinkToFit();
  });
  const newest = Math.max(0, ...pacer.shown.map((caption) => caption.seq));
  if (newest > painted && server.state !== "blank") connection.painted(newest);
  painted = Math.max(painted, newest);
}

/** One caption alone may still be too long for the screen: then its type gives way. */
function shrinkToFit() {
  for (const factor of SHRINK) {
    list.style.setProperty("--fit", factor);
    if (list.offsetHeight <= stage.clientHeight) return;
  }
}

/** Start again to count the time without speech. */
function hold() {
  clearTimeout(clearTimer);
  const speaking = server.link === "open" && server.state === "speech";
  if (clearMs === 0 || speaking) return;
  clearTimer = setTimeout(() => {
    pacer.clear();
    advance();
  }, clearMs);
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
  stage.classList.toggle("blank", server.state === "blank");
}

function greet(hello) {
  Object.assign(server, { mode: hello.mode, state: hello.state, lang: hello.lang, refusal: "" });
  captions.greet(hello);
  if (hello.resumed && hello.captions.length <= CATCH_UP) {
    for (const caption of hello.captions) take(caption);
  } else {
    painted = hello.seq;
    pacer.jump(captions.visible(server.lang), performance.now());
  }
}

/** Give a caption, of which this is the newest revision, its place. */
function take(caption) {
  if (textFor(caption, server.lang).text === "") pacer.remove(caption.id);
  else pacer.offer(caption);
}

function receive(message) {
  if (message.type === "hello") greet(message);
  else if (message.type === "caption" && captions.put(message)) take(message);
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
    server.link = link;
    tell();
    hold();
  },
});

root.classList.toggle("with-source", query.get("show") === "both");
new ResizeObserver(shrinkToFit).observe(stage);
document.addEventListener("dblclick", () => root.requestFullscreen());
keepAwake();
