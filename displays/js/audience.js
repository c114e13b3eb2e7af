// The audience page: captions on a phone, with their history.

import { Captions, textFor } from "./captions.js";
import { condition, tone } from "./condition.js";
import { Connection } from "./connection.js";
import { Feed } from "./feed.js";
import { Settings } from "./settings.js";
import { keepAwake } from "./wakelock.js";
import { pickLang, speakPage, words } from "./words.js";

const HISTORY = 500;
const ANNOUNCED = 3;

const root = document.documentElement;
const [status, statusText, notice, list, announcer, live] = [
  "status", "status-text", "notice", "captions", "announcer", "live",
].map((id) => document.getElementById(id));

const captions = new Captions(HISTORY);
const announced = new Set();
const server = { link: "connecting", mode: "", state: "", lang: "", source: "" };
let table = words("en");

const feed = new Feed(document.getElementById("scroller"), list, (following) => {
  live.hidden = following;
});
live.addEventListener("click", () => feed.toEnd());

const settings = new Settings((preferences, name) => {
  if (name === "lang") connection.subscribe(preferences.lang);
  dress();
});

/** Apply what the reader chose. */
function dress() {
  const { size, theme, source, page } = settings.preferences;
  const lang = pickLang([page, ...navigator.languages, server.lang]);
  table = words(lang);
  root.lang = lang;
  document.title = table.title;
  settings.spoken(lang);
  speakPage(document.body, table);
  feed.change(() => {
    root.dataset.size = size;
    root.dataset.theme = theme;
    root.classList.toggle("with-source", source);
  });
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
  if (list.hidden !== blank) feed.change(() => (list.hidden = blank));
  notice.hidden = list.childElementCount > 0 && !list.hidden;
  notice.textContent = name === "listening" ? table.waiting : word;
}

function show() {
  feed.render(captions.visible(server.lang), server.lang);
  tell();
}

/** Read a final out to those who listen to the page, once. Partials would be a stammer. */
function announce(caption) {
  if (!caption.final || announced.has(caption.id)) return;
  announced.add(caption.id);
  const shown = textFor(caption, server.lang);
  if (shown.text === "" || server.state === "blank") return;
  const line = document.createElement("p");
  line.lang = shown.lang;
  line.textContent = shown.text;
  announcer.append(line);
  while (announcer.childElementCount > ANNOUNCED) announcer.firstElementChild.remove();
}

function greet(hello) {
  if (!hello.resumed) announced.clear();
  Object.assign(server, { mode: hello.mode, state: hello.state, lang: hello.lang, source: hello.source });
  settings.offer([...hello.targets, hello.source], hello.lang, hello.source);
  captions.greet(hello);
  for (const { id, final } of hello.captions) if (final) announced.add(id);
  show();
}

function receive(message) {
  if (message.type === "hello") {
    greet(message);
  } else if (message.type === "caption" && captions.put(message)) {
    show();
    announce(message);
    if (feed.following && !list.hidden) connection.painted(message.seq);
  } else if (message.type === "status") {
    Object.assign(server, { mode: message.mode, state: message.state });
    tell();
  } else if (message.type === "error" && message.code === "unknown-lang") {
    settings.set("lang", ""); // Another Sunday, another language: take the server's own.
  }
}

const connection = new Connection({
  kind: "audience",
  lang: settings.preferences.lang,
  onMessage: receive,
  onLink: (link) => {
    server.link = link;
    tell();
  },
});
dress();
keepAwake();
