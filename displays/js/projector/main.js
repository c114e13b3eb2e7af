// The projector page: the last captions in large type, each for its reading time.
// js/projector/settings.js has the options of its address.

import { animateMove } from "../render/animate.js";
import { reconcile } from "../render/caption_view.js";
import { Pacer } from "../render/pacing.js";
import { blockText } from "../shared/blocks.js";
import { Connection } from "../shared/connection.js";
import { pickLang, words } from "../shared/i18n.js";
import { renderNotice } from "../shared/notice.js";
import { Session, SilenceTimer } from "../shared/session.js";
import { statusName, statusTone } from "../shared/status.js";
import { keepAwake } from "../shared/wakelock.js";
import { Queue } from "./queue.js";
import { settings } from "./settings.js";
import { Stage } from "./stage.js";

const HISTORY = 60;

const root = document.documentElement;
const [list, announcement, status, statusText, idle] = [
  "captions", "announcement", "status", "status-text", "idle",
].map((id) => document.getElementById(id));
const session = new Session({ limit: HISTORY, lang: settings.lang });
const views = new Map();
const stage = new Stage(settings, () => session.lang);
const queue = new Queue(settings, () => stage.measure());
const most = settings.blocks ? 1 : settings.captions;
let growing = new Set(); // ids on the screen that were first shown as partials
let advanceTimer = 0;
let painted = 0;

const pacer = new Pacer({
  textOf: (item) => blockText(item, session.lang),
  fits: (wanted) => wanted.length <= most && stage.holds(wanted),
});

const silence = new SilenceTimer(settings.clearMs, () => {
  pacer.clear();
  advance();
});

/** Show what the pacer admits, and schedule the next step. */
function advance() {
  clearTimeout(advanceTimer);
  const nowMs = performance.now();
  const heldMs = queue.offer(pacer, session.captions, session.lang, nowMs);
  const waitMs = Math.min(heldMs, pacer.step(nowMs));
  if (waitMs !== Infinity) advanceTimer = setTimeout(advance, waitMs);
  render();
  const newest = Math.max(0, ...pacer.shown.map((item) => item.seq));
  // On a blank screen nobody has seen it.
  if (newest > painted && !session.isBlank) connection.painted(newest);
  painted = Math.max(painted, newest);
}

function render() {
  const shown = pacer.shown;
  growing = new Set(shown.filter((item) => !item.final || growing.has(item.id)).map((item) => item.id));
  // Readers saw a growing caption's first lines roll away; one that came at once must fit whole.
  const rolled = stage.rolls && shown.length === 1 && growing.has(shown[0].id);
  animateMove(list, () => {
    const whole = stage.fit(rolled ? [] : shown);
    const tail = whole && stage.rolls ? pacer.tail(most - shown.length) : [];
    reconcile(list, views, [...tail, ...shown], session.lang);
  });
  // A blanked screen is empty, and `states=0` shows only captions.
  idle.hidden = list.childElementCount > 0 || session.isBlank || !settings.states;
}

function renderStatus() {
  const lang = pickLang([session.lang, ...navigator.languages]);
  const name = statusName(session);
  root.lang = lang;
  document.title = words(lang).title;
  status.dataset.tone = statusTone(name);
  // Only captions if all is well, and nothing at all on a blanked screen.
  status.hidden = !settings.states || name === "listening" || name === "blank";
  // The server's own text on what it refuses in this page's address.
  statusText.textContent = (session.link === "lost" && session.refusal) || (words(lang)[name] ?? "");
  stage.blank(session.isBlank);
  if (renderNotice(announcement, session)) makeRoom();
}

/** Place the captions below the notice. */
function makeRoom() {
  root.style.setProperty("--notice", `${announcement.offsetHeight}px`);
  refit();
}

function refit() {
  stage.cut();
  queue.refold();
  if (settings.blocks) jump();
  render();
}

/** Skip what was missed, and continue with the newest captions. */
function jump() {
  pacer.jump(queue.take(session.captions, session.lang), performance.now());
}

function onMessage(message) {
  const change = session.receive(message);
  if (change === null) return;
  if (change.missed) {
    painted = message.seq;
    jump();
  }
  renderStatus();
  silence.restart(session.isSpeaking);
  advance();
}

const connection = new Connection({
  kind: "projector",
  lang: settings.lang,
  onMessage,
  onLink: (link) => {
    const hasChanged = session.setLink(link);
    renderStatus();
    if (hasChanged) silence.restart(session.isSpeaking);
  },
});

window.addEventListener("resize", makeRoom);
// Lines measured before our font was loaded have another width. This skips no caption.
document.fonts.addEventListener("loadingdone", () => {
  stage.cut();
  queue.refold();
  render();
});
document.addEventListener("dblclick", () => root.requestFullscreen());
keepAwake();
