// The overlay for OBS, vMix and others: only captions, on a transparent page. The address has
// all options: js/overlay/options.js lists them, and /obs?help shows them.

import { Connection } from "../shared/connection.js";
import { pickLang, words } from "../shared/i18n.js";
import { renderNotice } from "../shared/notice.js";
import { Session, SilenceTimer } from "../shared/session.js";
import { statusName, statusTone } from "../shared/status.js";
import { readOptions } from "./options.js";
import { Rollup } from "./rollup.js";
import { applyStyle } from "./style.js";
import { Turns } from "./turns.js";

const HISTORY = 60;
const FADE_MS = 400; // as in css/obs.css

const query = new URLSearchParams(location.search);
const { values, wrong } = readOptions(query);
for (const sentence of wrong) console.warn(sentence); // in the console; none of it goes on air

const root = document.documentElement;
const [stage, viewport, list, announcement, status, statusText] = [
  "stage", "window", "captions", "announcement", "status", "status-text",
].map((id) => document.getElementById(id));
const session = new Session({
  limit: HISTORY,
  lang: values.lang,
  langOf: (hello) => (values.show === "source" ? hello.source : hello.lang),
});
const anchor = { top: 0, middle: 0.5, bottom: 1 }[values.position];
const presenter = new (values.mode === "blocks" ? Turns : Rollup)({ list, height: values.lines, anchor });
const silence = new SilenceTimer(values.hide * 1000, fade);
let cleared = new Map(); // captions of the emptied window: id, and whether final
let connection = null; // none in the preview
let advanceTimer = 0;
let emptyTimer = 0;
let isWaiting = false; // there is text that is not shown yet
let painted = 0;

applyStyle(root, values);

/** The items to show, oldest first. Of a cleared caption only a final that came later. */
function wanted() {
  const { captions, lang } = session;
  // In finals-only modes a resumed caption keeps its last final.
  const shown = values.partials === "none" || values.mode === "blocks" ? captions.standing(lang) : captions.visible(lang);
  return shown.filter(({ id, final }) => {
    if (cleared.get(id) === true) return false;
    return final || (values.partials !== "none" && !cleared.has(id));
  });
}

/** Show what may be shown now, and schedule the next step. */
function advance() {
  clearTimeout(advanceTimer);
  const all = wanted();
  const waitMs = presenter.advance(all, session.lang, performance.now());
  const hasWaited = isWaiting;
  isWaiting = waitMs !== Infinity;
  if (isWaiting) advanceTimer = setTimeout(advance, waitMs);
  else if (hasWaited) hold();
  const newest = Math.max(0, ...all.map(({ seq }) => seq));
  if (isWaiting || newest <= painted || session.isBlank) return;
  connection?.painted(newest);
  painted = newest;
}

/** Keep the text, and restart the silence timer once all text has been shown. */
function hold() {
  clearTimeout(emptyTimer);
  viewport.classList.remove("away");
  silence.restart(session.isSpeaking || isWaiting);
}

/** After a silence: fade the text out, then drop it. */
function fade() {
  viewport.classList.add("away");
  cleared = new Map(session.captions.visible(session.lang).map(({ id, final }) => [id, final]));
  emptyTimer = setTimeout(empty, FADE_MS);
}

function empty() {
  presenter.reset();
  advance();
  viewport.classList.remove("away");
}

function renderStatus() {
  const name = statusName(session);
  stage.classList.toggle("blank", session.isBlank);
  renderNotice(announcement, session);
  root.lang = pickLang([session.lang, ...navigator.languages]);
  status.hidden = values.states === "0" || name === "listening" || name === "blank";
  status.dataset.tone = statusTone(name);
  statusText.textContent = (session.link === "lost" && session.refusal) || (words(root.lang)[name] ?? "");
}

/** Start with what is said now. In a pause all captions may be old: no old text goes on air. */
function restart({ seq, state }) {
  painted = seq;
  cleared = new Map();
  if (state === "speech") {
    presenter.jump(wanted(), session.lang, performance.now());
  } else {
    cleared = new Map(wanted().map(({ id, final }) => [id, final]));
    presenter.reset();
  }
}

function onMessage(message) {
  const change = session.receive(message);
  if (change === null) return;
  if (change.missed) restart(message);
  // A cleared final is resumed.
  if (change.caption?.status === "resumed") cleared.delete(change.caption.id);
  // The server refuses the address: log it; the page shows it if `states` is on.
  if (change.type === "error") console.warn(session.refusal);
  renderStatus();
  advance();
  hold();
}

if (query.has("help") || query.has("demo")) {
  session.setLink("open");
  const { preview } = await import("./preview.js");
  preview(query, onMessage);
} else {
  connection = new Connection({
    kind: "obs",
    lang: values.lang,
    onMessage,
    onLink: (link) => {
      const hasChanged = session.setLink(link);
      renderStatus();
      if (hasChanged) hold();
    },
  });
}
new ResizeObserver(advance).observe(stage);
