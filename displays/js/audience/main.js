// The audience page: captions on a phone, with their history.

import { Feed } from "../render/follow_list.js";
import { blocksOf } from "../shared/blocks.js";
import { Captions, textFor } from "../shared/captions.js";
import { afterPaint, Connection } from "../shared/connection.js";
import { pickLang, speakPage, words } from "../shared/i18n.js";
import { condition, tone } from "../shared/status.js";
import { loadPreferences, savePreferences } from "./preferences.js";

const HISTORY = 500;
const FIRST_CAPTIONS = 16; // More than fill a phone's screen; js/audience/preconnect.js asks for as many.

const root = document.documentElement;
const [status, statusText, notice, list, live, open] = [
  "status", "status-text", "notice", "captions", "live", "open",
].map((id) => document.getElementById(id));

const captions = new Captions(HISTORY);
const server = { link: "connecting", mode: "", state: "", lang: "", source: "", langs: [] };
let preferences = loadPreferences();
let table = words("en");
// What is not needed for the first captions is fetched after them.
let furnished = false;
let sheet = null;
let announce = () => {};
let hush = () => {};
let awake = true;

const feed = new Feed(document.getElementById("scroller"), list, (following) => {
  live.hidden = following;
});
live.addEventListener("click", () => feed.toEnd());
open.addEventListener("click", async () => (await settings()).open());

function choose(name, value) {
  preferences = { ...preferences, [name]: value };
  savePreferences(preferences);
  if (name === "lang") connection.subscribe(value);
  dress();
}

async function settings() {
  if (!sheet) {
    const { Settings } = await import("./settings.js");
    sheet ??= new Settings(choose);
    reflect();
  }
  return sheet;
}

function reflect() {
  const { langs, lang, source } = server;
  sheet?.reflect({ preferences, langs, lang, source, page: root.lang, awake });
}

/** Fetch what the reader may want later. The page works without, should the network be gone by then. */
async function furnish() {
  try {
    ({ announce, hush } = await import("./announcer.js"));
    await settings();
    const { keepAwake } = await import("../shared/wakelock.js");
    awake = await keepAwake();
    reflect();
  } catch (error) {
    console.info("not fetched:", error.message);
  }
}

/** Apply what the reader chose. */
function dress() {
  const { size, theme, source, page } = preferences;
  const lang = pickLang([page, ...navigator.languages, server.lang]);
  table = words(lang);
  root.lang = lang;
  document.title = table.title;
  speakPage(document.body, table);
  feed.change(() => {
    root.dataset.size = size;
    root.dataset.theme = theme;
    root.classList.toggle("with-source", source);
  });
  reflect();
  tell();
}

/** Say how it goes: in the status line, and in the middle where there are no captions to read. */
function tell() {
  const name = condition(server);
  const word = table[name] ?? "";
  status.dataset.tone = tone(name);
  status.classList.toggle("speech", server.link === "open" && server.state === "speech");
  if (statusText.textContent !== word) statusText.textContent = word;
  const blank = server.state === "blank";
  if (blank) hush(); // A screen reader could go back to it.
  if (list.hidden !== blank) feed.change(() => (list.hidden = blank));
  notice.hidden = list.childElementCount > 0 && !list.hidden;
  notice.textContent = name === "listening" ? table.waiting : word;
}

function show() {
  feed.render(blocksOf(captions.visible(server.lang), server.lang), server.lang);
  tell();
}

function greet(hello) {
  const { mode, state, lang, source, targets } = hello;
  Object.assign(server, { mode, state, lang, source, langs: [...targets, source] });
  captions.greet(hello);
  reflect();
  show();
  if (!furnished) afterPaint(furnish);
  furnished = true;
}

/** Show a caption, say it if it has just become final, and tell the server once it can be read. */
function take(caption) {
  const known = captions.get(caption.id);
  if (!captions.put(caption)) return;
  show();
  if (caption.final && !known?.final && server.state !== "blank") announce(textFor(caption, server.lang));
  if (feed.following && !list.hidden) connection.painted(caption.seq);
}

function receive(message) {
  if (message.type === "hello") {
    greet(message);
  } else if (message.type === "earlier") {
    captions.add(message);
    afterPaint(show); // First the newest, which are what the reader came for.
  } else if (message.type === "caption") {
    take(message);
  } else if (message.type === "status") {
    Object.assign(server, { mode: message.mode, state: message.state });
    tell();
  } else if (message.type === "error" && message.code === "unknown-lang") {
    choose("lang", ""); // Another Sunday, another language: take the server's own.
  }
}

const { early = null } = window;
window.early = null; // Should the socket still come, it comes too late.
const connection = new Connection({
  kind: "audience",
  lang: preferences.lang,
  history: FIRST_CAPTIONS,
  early,
  onMessage: receive,
  onLink: (link) => {
    server.link = link;
    tell();
  },
});
dress();
