// The audience page: captions on a phone, with their history.

import { FollowList } from "../render/follow_list.js";
import { blocksOf } from "../shared/blocks.js";
import { textFor } from "../shared/captions.js";
import { afterPaint, Connection } from "../shared/connection.js";
import { languageName, pickLang, setLanguage, translatePage, words } from "../shared/i18n.js";
import { renderNotice } from "../shared/notice.js";
import { Session } from "../shared/session.js";
import { statusName, statusTone } from "../shared/status.js";
import { announce, clearAnnouncer, forgetHidden } from "./announcer.js";
import { isUnsure, offerLanguages } from "./door.js";
import { forgetLinkLanguage, loadPreferences, savePreferences } from "./preferences.js";
import { Settings } from "./settings.js";
import { Speaker } from "./speaker.js";

const HISTORY = 500;
const FIRST_CAPTIONS = 16; // More than a phone's screen; same in js/audience/preconnect.js.
const HINT_MS = 10_000;

const root = document.documentElement;
const [status, statusText, notice, announcement, list, live, aloud, hint, open] = [
  "status", "status-text", "notice", "announcement", "captions", "live", "aloud", "hint", "open",
].map((id) => document.getElementById(id));

const session = new Session({ limit: HISTORY });
let preferences = loadPreferences();
let table = words("en");
// What the first captions do not need is loaded after them.
let isRestAsked = false;
let sheet = null;
let speaker = null;
let listener = null;
let voices = []; // languages of the church's own voice
let hintTimer = 0;
let service = ""; // the name of the current service
let staysAwake = true;

const followList = new FollowList(document.getElementById("scroller"), list, (isFollowing) => {
  live.hidden = isFollowing;
});
live.addEventListener("click", () => followList.toEnd());
aloud.addEventListener("click", toggleAloud);
open.addEventListener("click", () => settingsSheet().open());

function choose(name, value) {
  preferences = { ...preferences, [name]: value };
  savePreferences(preferences);
  if (name === "lang") {
    forgetLinkLanguage();
    connection.subscribe(value);
  }
  applyPreferences();
}

function settingsSheet() {
  sheet ??= new Settings(choose);
  updateSettings();
  return sheet;
}

function updateSettings() {
  const { langs, lang, source } = session;
  sheet?.update({ preferences, langs, lang, source, page: root.lang, awake: staysAwake });
}

/** Load what the reader may want later. */
async function loadRest() {
  askLanguage();
  settingsSheet();
  if (window.speechSynthesis) {
    // Create it in advance: a phone speaks only in response to a touch.
    speaker = new Speaker(window.speechSynthesis);
  }
  try {
    await askVoices();
    const { keepAwake } = await import("../shared/wakelock.js");
    staysAwake = await keepAwake();
    updateSettings();
  } catch (error) {
    console.info("not fetched:", error.message);
  }
}

/** Fetch the languages of the church's voice; offer that voice or the phone's own. */
async function askVoices() {
  try {
    const response = await fetch("/listen");
    const spoken = response.ok ? (await response.json()).langs : [];
    if (spoken.length > 0 && !listener) {
      const { Listener } = await import("./listener.js");
      listener = new Listener(new Audio(), askVoices);
    }
    voices = spoken; // Last: do not offer a voice that nothing can play.
  } catch (error) {
    console.info("not fetched:", error.message); // No network: the offer does not change.
  }
  offerVoice();
}

/** Offer the church's voice, which plays while a phone is locked, else the phone's own voice. */
function offerVoice() {
  const isChurch = voices.includes(session.lang);
  if (listener?.isOn && (!isChurch || listener.lang !== session.lang)) {
    listener.stop();
    aloud.setAttribute("aria-pressed", false);
  }
  aloud.dataset.label = isChurch ? "church_voice" : "read_aloud";
  aloud.setAttribute("aria-label", table[aloud.dataset.label]);
  aloud.hidden = !isChurch && !speaker;
}

function toggleAloud() {
  const { lang } = session;
  const wasOn = Boolean(speaker?.isOn || listener?.isOn);
  const isChurch = voices.includes(lang);
  speaker?.stop();
  listener?.stop();
  if (!wasOn && isChurch) listener.start(lang, `${table.title} – ${languageName(lang)}`);
  else if (!wasOn && speaker.hasVoice(lang)) {
    speaker.start(session.captions.visible(lang), lang, languageName(lang));
  }
  const isOn = Boolean(speaker?.isOn || listener?.isOn);
  aloud.setAttribute("aria-pressed", isOn);
  if (isOn) showHint(isChurch ? table.church_headphones : table.headphones);
  else if (!wasOn) showHint(table.no_voice);
  else hint.hidden = true;
}

/** Show the reader a hint for a few seconds. */
function showHint(text) {
  hint.textContent = text;
  hint.hidden = false;
  clearTimeout(hintTimer);
  hintTimer = setTimeout(() => (hint.hidden = true), HINT_MS);
}

/** Ask which language to read, if none is chosen yet. */
function askLanguage() {
  const { langs, source, lang } = session;
  const targets = langs.filter((each) => each !== source);
  if (langs.includes(preferences.lang) || !isUnsure(targets, lang, navigator.languages)) return;
  offerLanguages(langs, lang, (chosen) => choose("lang", chosen));
}

/** After a batch of captions, read on from the newest. Stop if the language has changed. */
function resumeAloud() {
  if (!speaker?.isOn) return;
  const captions = session.captions.visible(session.lang);
  if (speaker.lang !== session.lang) {
    speaker.stop();
    aloud.setAttribute("aria-pressed", false);
  } else {
    speaker.resume(captions);
  }
}

/** Apply what the reader chose. */
function applyPreferences() {
  const { size, theme, source, page } = preferences;
  const lang = pickLang([page, ...navigator.languages, session.lang]);
  table = words(lang);
  setLanguage(root, lang);
  document.title = table.title;
  translatePage(document.body, table);
  followList.change(() => {
    root.dataset.size = size;
    root.dataset.theme = theme;
    root.classList.toggle("with-source", source);
  });
  updateSettings();
  renderStatus();
}

/** Show the state in the status line, and in the middle if there are no captions to read. */
function renderStatus() {
  const name = statusName(session);
  const word = table[name] ?? "";
  status.dataset.tone = statusTone(name);
  status.classList.toggle("speech", session.isSpeaking);
  if (statusText.textContent !== word) statusText.textContent = word;
  if (session.isBlank) {
    clearAnnouncer(); // A screen reader could go back to it.
    if (speaker?.isOn) speaker.passOver(session.captions.visible(session.lang));
  }
  if (list.hidden !== session.isBlank) followList.change(() => (list.hidden = session.isBlank));
  renderNotice(announcement, session);
  notice.hidden = list.childElementCount > 0 && !list.hidden;
  notice.textContent = name === "listening" ? table.waiting : word;
}

function renderCaptions() {
  const captions = session.captions.visible(session.lang);
  followList.render(blocksOf(captions, session.lang), session.lang);
  forgetHidden(captions);
  renderStatus();
}

function onHello() {
  if (session.langs.includes(preferences.lang)) {
    // It was not there for a while.
    if (session.lang !== preferences.lang) return connection.subscribe(preferences.lang);
    savePreferences(preferences); // Keep a link's language for the next visit.
  }
  updateSettings();
  renderCaptions();
  if (service !== session.name) {
    service = session.name;
    speaker?.forget();
    clearAnnouncer();
    followList.toEnd(); // The place in another service's captions means nothing here.
  }
  resumeAloud();
  if (isRestAsked) askVoices();
  else afterPaint(loadRest);
  isRestAsked = true;
}

/** Show a caption, announce a new final, and acknowledge the caption once it is readable. */
function onCaption({ caption, isNew, isNewlyFinal, before }) {
  if (!isNew) return;
  renderCaptions();
  if (session.isBlank) speaker?.passOver([caption]);
  else if (speaker?.isOn) speaker.take(caption);
  else if (isNewlyFinal && !listener?.isOn) {
    announce(caption.id, textFor(caption, session.lang), before && textFor(before, session.lang));
  }
  if (followList.isFollowing && !list.hidden) connection.painted(caption.seq);
}

function onMessage(message) {
  const change = session.receive(message);
  if (change?.type === "hello") onHello();
  else if (change?.type === "earlier") afterPaint(renderCaptions); // Newest captions first.
  else if (change?.type === "caption") onCaption(change);
  else if (change?.type === "status" || change?.type === "notice") renderStatus();
  // The language is not available today: use the server's choice. The reader's own is kept.
  else if (change?.code === "unknown-lang") {
    showHint(table.not_today.replace("{language}", languageName(preferences.lang)));
    forgetLinkLanguage();
    connection.subscribe("");
  }
}

const { preconnect = null } = window;
window.preconnect = null; // A socket that opens after this is too late.
const connection = new Connection({
  kind: "audience",
  lang: preferences.lang,
  prefer: navigator.languages.join(),
  history: FIRST_CAPTIONS,
  preconnect,
  onMessage,
  onLink: (link) => {
    session.setLink(link);
    renderStatus();
  },
});
applyPreferences();
