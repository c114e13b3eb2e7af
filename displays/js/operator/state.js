// What the operator's page says about how it goes, so that one glance is enough: a word, an icon, a tone, a reason.

import { statusTone } from "../shared/status.js";

const GLANCES = {
  connecting: ["Connecting", "wait", ""],
  lost: ["Connection lost", "lost", "Trying again. What stands below is old, and no button works until it is back."],
  outdated: ["Reload this page", "fault", "The program was updated while this page was open."],
  starting: ["Starting", "wait", "The models are being loaded; seconds to a minute."],
  listening: ["Listening", "listening", ""],
  speech: ["Speech", "speech", ""],
  paused: ["Paused", "paused", "Nothing is heard until you resume."],
  song: ["Song", "song", "Captions are held while there is music or singing."],
  "off-record": ["Off the record", "off-record", "Nothing is heard, shown or kept until you press Back on the record."],
  blank: ["Screens blank", "blank", "The displays show no captions until you unblank them."],
  behind: ["Behind", "behind", "The machine is too slow for what is said."],
  muted: ["No sound", "no-audio", "The microphone is muted, at the mixer or at itself. Readers see “In a moment”."],
  "no-audio": ["Microphone lost", "no-audio", "Plug it in again; captions go on by themselves."],
  fault: ["Fault", "fault", "The service restarts by itself. If it does not, start it again."],
  ended: ["Ended", "ended", "The service is over, and so is the program."],
};

const OFF_RECORD = "off the record"; // The reason where there is no more to say.

/** What the button for it says: what it will do, or that it ends what it did. */
export function offRecordWords(on, seconds) {
  if (on) return "Back on the record";
  return seconds > 0 ? `Hold: off the record, removes the last ${Math.round(seconds)} s` : "Hold: off the record";
}

/** What the button for song says, which command it gives and what it shows, with what operators want and whether captions are held. */
export function songButton(wanted, held) {
  if (wanted === "hold") return { word: "Captions again", command: "song-auto", icon: "play" };
  if (wanted === "caption") return { word: "Hold songs again", command: "song-auto", icon: "song" };
  if (held) return { word: "Caption anyway", command: "song-caption", icon: "play" };
  return { word: "Hold for a song", command: "song-hold", icon: "song" };
}

/**
 * `{word, icon, tone, reason}` of the page whose link is "connecting", "open", "lost" or "outdated", with the
 * server's last state and reason. A state of a newer server that we do not know is shown by its own name.
 */
export function glance({ link, state, reason, offRecord = false }) {
  // After the service the server goes away, and nothing is lost by that.
  const over = link === "lost" && state === "ended";
  const shown = offRecord && state === "blank" ? "off-record" : state;
  const name = link === "open" || over ? shown : link;
  const [word, icon, help] = GLANCES[name] ?? [name, "wait", ""];
  if (name === "lost") return { word, icon, tone: "bad", reason: help };
  const told = link === "open" && reason !== OFF_RECORD ? sentence(reason) : "";
  return { word, icon, tone: glanceTone(name, told), reason: [told, help].filter(Boolean).join(" ") };
}

function glanceTone(name, told) {
  if (name === "off-record" || name === "muted") return "bad"; // Readers are only asked to wait.
  // Well, but with a reason: the machine gives something up already.
  if ((name === "listening" || name === "speech") && told !== "") return "wait";
  return name === "speech" ? "good" : statusTone(name);
}

/** What `mode` means for the audience, or "" in a service. */
export function banner(mode) {
  if (mode === "dry-run") return "Rehearsal: nothing of this reaches the audience. Its pages say “standby”.";
  if (mode === "demo") return "Demo: the displays show the demo sermon or a past session.";
  return "";
}

const HINTS = {
  "unknown-caption": "It is too old to be changed.",
  "too-large": "Make the text shorter.",
  "unknown-command": "This page is newer than the program that runs; restart it.",
  "rule-exists": "Change it in the file, or undo it if you have just added it.",
};

/** One line about a refusal or a fault, with what to do where the server does not say. */
export function refusal({ code, message }) {
  return [ended(message), HINTS[code]].filter(Boolean).join(" ");
}

/** What a rule that was added or taken back means. */
export function ruleWords({ heard, write, removed, held, lang }) {
  if (removed) return `“${heard}” is left alone again.`;
  if (lang) return `“${heard}” is “${write}” until the service ends.`;
  return held ? `“${heard}” is written “${write}” until the service ends.` : `From now on “${heard}” is written “${write}”.`;
}

/** What came of reading the settings again. */
export function reloaded({ live, next_utterance, restart }) {
  const parts = [
    [live, "in force"],
    [next_utterance, "from the next sentence on"],
    [restart, "only after a restart"],
  ];
  const told = parts.filter(([keys]) => keys.length > 0).map(([keys, when]) => `${keys.join(", ")}: ${when}.`);
  return ["The settings were read again.", ...(told.length ? told : ["Nothing has changed."])].join(" ");
}

/** The server's phrases as sentences: "paused by the operator" is "Paused by the operator." */
function sentence(text) {
  return ended(text.charAt(0).toUpperCase() + text.slice(1));
}

function ended(text) {
  return text === "" || /[.!?]$/.test(text) ? text : `${text}.`;
}
