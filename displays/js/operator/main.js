// The operator's console: the state, what is said, and the few commands of the person at the desk.
//   /operator#token=...   signs in without typing the token

import { showAddress } from "../shared/address.js";
import { Connection } from "../shared/connection.js";
import { forgetToken, keepDevice, keepToken, loadToken, onToken } from "../shared/operator_token.js";
import { allowCheck, listenForCheck, showProgress } from "./check.js";
import { listenForButtons, renderButtons } from "./buttons.js";
import { button, setText } from "./controls.js";
import { isMinuteDoubtful } from "./doubt.js";
import { Doubtful } from "./doubtful.js";
import { EditDialog } from "./edit_dialog.js";
import { HoldOffer } from "./hold_rule.js";
import { listenForHolds } from "./holds.js";
import { showLanguages } from "./languages.js";
import { List } from "./list.js";
import { clearLogin, fillToken, listenForLogin, refuseLogin, renderLogin } from "./login.js";
import { Meter } from "./meter.js";
import { showKeptSound, showModels } from "./models.js";
import { SermonNotes } from "./notes.js";
import { notify } from "./notify.js";
import { listenForDetails, Panel } from "./panel.js";
import { Reminder } from "./reminder.js";
import { RuleDialog } from "./rule_dialog.js";
import { listenForKeys } from "./shortcuts.js";
import { addressWords, dictionaryWords, glance, modeNote, offRecordMore, refusal, reloaded, ruleWords } from "./state.js";
import { Suggestion } from "./suggestion.js";
import { listenForTabs } from "./tabs.js";
import { explainMarks } from "./tooltip.js";
import { Typing } from "./typing.js";
import { hiding, recognized, standing, Utterances } from "./utterances.js";
import { VolunteerList } from "./volunteers.js";
import { fill, translateDesk, wording } from "./wording.js";

const HISTORY = 200;
const SILENCE_MS = 8000; // `health` comes every two seconds

const element = Object.fromEntries([...document.querySelectorAll("[id]")].map((one) => [one.id, one]));
const utterances = new Utterances(HISTORY);
const meter = new Meter();
const panel = new Panel();
const server = { link: "connecting", session: "", mode: "", state: "", reason: "", source: "", lang: "", targets: [], heard: "" };
const operator = { token: loadToken(), asked: false, authorized: false, paused: false, blank: false, undo: "", awaits: false, dictionary: "", offRecord: false, offRecordS: 0, song: "off", spoken: [], forced: "" };
let silenceTimer = 0;
let drawing = false;
const list = new List({ onChoose: () => renderChosen(), onOpen: () => element.edit.click() });
const editDialog = new EditDialog({
  onOpen: (id) => command("settle", { id }),
  onSave(saved) {
    const { id, lang, revision, heard, text } = saved;
    const isSent = heard ? command("correct", { id, lang, revision, text: heard, target: text }) : command("edit", { id, lang, revision, text });
    // A rendering is saved for the first language only.
    if (isSent && operator.dictionary) holdOffer.offer(lang === server.targets[0] ? saved : { ...saved, text: "" }, utterances.get(id));
    return isSent;
  },
});
const suggestion = new Suggestion(command);
const doubtful = new Doubtful(server, operator, command, (entry) => editDialog.open(entry, ""));
const notes = new SermonNotes(command);
const typing = new Typing(command);
const volunteers = new VolunteerList((message) => connection.send(message));
const ruleDialog = new RuleDialog({
  onAdd: (heard, write) => command("add-rule", { heard, write }),
  onHold: (say, write, instead) => command("hold-term", { say, write, instead }),
  onAsk: (say, write, instead) => connection.send({ type: "command", name: "preview-term", say, write, instead }),
});
const holdOffer = new HoldOffer(command, (rule) => connection.send({ type: "command", name: "preview-rule", ...rule }), ruleDialog);
const reminder = new Reminder(operator, server);
translateDesk(element.language);
const tooltip = explainMarks(element.rows);
listenForKeys(element.keys);
listenForDetails(element.details);
listenForTabs(document.querySelector("[role=tablist]"), () => list.shown());

// The page's output

function renderStatus() {
  const { word, icon, tone, reason } = glance({ ...server, offRecord: operator.offRecord });
  element.glance.dataset.tone = tone;
  element["state-icon"].setAttribute("href", `#icon-${icon}`);
  setText(element.state, word);
  setText(element.reason, reason);
  // Speech starts and stops with every sentence: a screen reader must not announce that.
  if (server.state !== "speech" || server.link !== "open") setText(element.said, `${word}. ${reason}`);
  const up = server.link === "open" || server.state === "ended";
  document.title = `${up ? "" : "⚠ "}${fill(wording.window_title, { state: word })}`;
  document.body.classList.toggle("down", !up);
  const [note, noteHelp] = modeNote(server.mode);
  element.banner.hidden = note === "";
  setText(element.banner.firstElementChild, note);
  setText(element.banner.lastElementChild, noteHelp);
  renderLogin({ isHidden: !up || operator.authorized || !operator.asked, isBusy: operator.token !== "" });
  if (!["listening", "speech", "song", "behind"].includes(server.state)) meter.rest();
  renderControls();
}

function renderControls() {
  const able = server.link === "open" && operator.authorized;
  renderButtons(element, operator, { able, isSong: server.state === "song", heard: server.heard, command });
  reminder.render();
  renderChosen();
  for (const each of [suggestion, doubtful, typing]) each.render(able);
  allowCheck(able);
}

/** Update the buttons of the chosen caption. */
function renderChosen() {
  const entry = utterances.get(list.chosen);
  const able = server.link === "open" && operator.authorized && entry !== undefined;
  const now = entry && standing(entry);
  // The final of a partial would never come.
  element.edit.disabled = !able || now === "filtered" || now === "partial";
  button(element.hide, able && now !== "filtered", now === "hidden" ? wording.bring_back : wording.hide);
  button(element["add-rule"], able && operator.dictionary !== "", dictionaryWords(list.words));
}

/** Update the list in the next frame, once, however many messages arrive before it. */
function render() {
  if (!drawing) requestAnimationFrame(draw);
  drawing = true;
}

function draw() {
  drawing = false;
  const entries = utterances.list();
  element.empty.hidden = entries.length > 0;
  list.render(entries);
  tooltip.check();
  editDialog.follow(utterances.get(editDialog.id));
  element.doubtful.hidden = !isMinuteDoubtful(entries);
}

// Messages of the server

const RECEIVE = {
  hello(hello) {
    // The ids of another session belong to other captions.
    if (server.session !== hello.session) editDialog.forget();
    Object.assign(server, { session: hello.session, mode: hello.mode, state: hello.state, reason: hello.reason, source: hello.source, lang: hello.lang, targets: hello.targets });
    showLanguages(hello, (lang) => connection.subscribe(lang));
    if (!hello.resumed) doubtful.startAgain();
    typing.onHello(hello);
    utterances.onHello(hello);
    for (const caption of hello.captions) doubtful.caption(caption);
    server.heard = hello.captions.findLast(({ source }) => source.text !== "")?.source.lang ?? (hello.resumed ? server.heard : "");
    render();
  },
  notice: (message) => typing.onNotice(message),
  status: ({ mode, state, reason }) => Object.assign(server, { mode, state, reason }),
  caption(message) {
    if (message.source.text !== "") server.heard = message.source.lang;
    utterances.caption(message);
    doubtful.caption(message);
    render();
    connection.painted(message.seq);
  },
  utterance: (message) => render(utterances.record(message)),
  compare: (message) => render(utterances.compare(message)),
  level: (message) => meter.put(message),
  authorized() {
    Object.assign(operator, { authorized: true, asked: false });
    keepToken(operator.token);
    clearLogin();
    element.desk.hidden = false;
  },
  console({ utterances: records, compares, address, check, suggestion: suggested, ...message }) {
    onDone(message);
    operator.dictionary = message.dictionary;
    suggestion.put(suggested ?? {});
    // Each once: a new connection must not close what somebody is typing in.
    message.purged.filter((stretch) => !utterances.hasForgotten(stretch)).forEach(forget);
    doubtful.reset(message.doubtful ?? []);
    notes.put(message.notes ?? {});
    operator.offRecordS = message.off_record_s;
    showKeptSound(message.keep_audio, element["keep-audio"]);
    showModels(message.models, element.models, element.starter);
    volunteers.put({ names: message.volunteers ?? [] });
    for (const record of records) utterances.record(record);
    for (const compare of compares) utterances.compare(compare);
    render();
    showProgress({ doing: "", problem: "", check });
    showAddress(address, { link: element.address, image: element.qr, problem: element["address-problem"] }, addressWords(address));
  },
  suggestion: (message) => suggestion.put(message),
  check: (message) => showProgress(message),
  doubtful: (message) => doubtful.put(message),
  notes: (message) => notes.put(message),
  paired({ token }) {
    operator.token = token;
    fillToken(token);
    keepDevice(token);
  },
  invitation: (message) => volunteers.invite(message),
  volunteers: (message) => volunteers.changed(message),
  health(message) {
    panel.put(message);
    reminder.health(message);
    awaitHealth();
  },
  done: (message) => onDone(message),
  purged: (message) => forget(message),
  rule: (message) => notify(ruleWords(message)),
  reloaded: (message) => notify(reloaded(message), message.restart.length ? "bad" : "good"),
  fault: (message) => reminder.fault(message) || notify(refusal(message), "bad"),
  preview: (message) => holdOffer.preview(message),
  error(message) {
    operator.awaits = false;
    // The language chosen on this page is gone after a restart.
    if (message.code === "unknown-lang" && !operator.authorized) return connection.subscribe("");
    if (message.code.startsWith("notes-")) notes.answered(message.message);
    if (message.code === "caption-changed" && editDialog.reopen(utterances.get(editDialog.id))) return;
    if (operator.authorized && message.code !== "signed-out") notify(refusal(message), "bad");
    else refuse(message);
  },
};

function onDone({ name, undo, paused, blank, off_record: offRecord, song, spoken, forced }) {
  Object.assign(operator, { undo, paused, blank, offRecord, song: song ?? "off", spoken: spoken ?? [], forced: forced ?? "", awaits: false });
  editDialog.done(name, utterances.get(editDialog.id));
}

/** Drop everything that was said between two times, and close the dialogs. */
function forget(stretch) {
  for (const each of [utterances, doubtful, holdOffer, editDialog]) each.forget(stretch);
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  draw(); // at once: a background page has no frames
}

/** The token is refused: ask for another. Forget it, unless this was only a retry too early. */
function refuse(message) {
  if (["not-authorized", "signed-out"].includes(message.code)) forgetToken();
  Object.assign(operator, { token: "", asked: true, authorized: false });
  element.desk.hidden = true;
  renderStatus();
  refuseLogin(refusal(message));
}

/** After `health` another must follow; if it does not, treat the link as lost. */
function awaitHealth() {
  clearTimeout(silenceTimer);
  silenceTimer = setTimeout(() => onLink("lost"), SILENCE_MS);
}

function onLink(state) {
  server.link = state;
  clearTimeout(silenceTimer);
  renderStatus();
}

const connection = new Connection({
  kind: "operator",
  onMessage(message) {
    // A silent connection has recovered by itself.
    if (server.link === "lost") server.link = "open";
    RECEIVE[message.type]?.(message);
    // Levels come several times a second, and change only the meter.
    if (message.type !== "level") renderStatus();
  },
  onLink,
  onOpen() {
    operator.authorized = false;
    authorize();
  },
});

// The operator's actions

function authorize() {
  if (operator.token) connection.send({ type: "auth", token: operator.token });
  else operator.asked = true;
}

/** Send a command; return whether it was sent. */
function command(name, fields = {}) {
  const isSent = connection.send({ type: "command", name, ...fields });
  if (!isSent) notify(wording.not_done, "bad");
  operator.awaits ||= isSent;
  renderControls();
  return isSent;
}

function enter(token) {
  operator.token = token;
  authorize();
  renderStatus();
}

listenForLogin({ onToken: enter, onCode: (code, name) => connection.send({ type: "pair", code, name }) });
onToken(enter);
listenForButtons(element, operator, command, () => server.state === "song");
listenForCheck(command);
listenForHolds(operator, command, notify, () => offRecordMore(operator.offRecordS));
element.edit.addEventListener("click", () => editDialog.open(utterances.get(list.chosen), list.words));
element.hide.addEventListener("click", () => command(...hiding(utterances.get(list.chosen))));
element["add-rule"].addEventListener("click", () => ruleDialog.open(recognized(utterances.get(list.chosen)), list.words, operator.dictionary));
// A press on the button must not clear the text selection that it uses.
element["add-rule"].addEventListener("mousedown", (event) => event.preventDefault());
