// The state of the service at a glance on the operator's page: a word, an icon, a tone, a reason.

import { statusTone } from "../shared/status.js";
import { fill, isolate, wording } from "./wording.js";

const GLANCES = {
  connecting: [wording.state_connecting, "wait", ""],
  lost: [wording.state_lost, "lost", wording.help_lost],
  outdated: [wording.state_outdated, "fault", wording.help_outdated],
  starting: [wording.state_starting, "wait", wording.help_starting],
  listening: [wording.state_listening, "listening", ""],
  speech: [wording.state_speech, "speech", ""],
  paused: [wording.state_paused, "paused", wording.help_paused],
  song: [wording.state_song, "song", wording.help_song],
  "off-record": [wording.state_off_record, "off-record", wording.help_off_record],
  blank: [wording.state_blank, "blank", wording.help_blank],
  behind: [wording.state_behind, "behind", wording.help_behind],
  muted: [wording.state_muted, "no-audio", wording.help_muted],
  "no-audio": [wording.state_no_audio, "no-audio", wording.help_no_audio],
  fault: [wording.state_fault, "fault", wording.help_fault],
  ended: [wording.state_ended, "ended", wording.help_ended],
};

const OFF_RECORD = "off the record"; // The reason of the server that adds no information.

// The server's fixed reasons for a state.
const REASONS = {
  "paused by the operator": wording.reason_paused,
  "blanked by the operator": wording.reason_blank,
  "blanked and paused by the operator": wording.reason_both,
  "held by the operator": wording.reason_held,
  "captions go on by themselves when somebody speaks": wording.reason_song,
};

// What the server says that it leaves out to keep up; a bracket after it names the slow part.
const LEFT_OUT = {
  "a little behind: fewer partial captions": wording.rung_fewer_partials,
  "behind: no partial captions": wording.rung_no_partials,
  "behind: the quick translator makes the finals": wording.rung_partial_finals,
  "far behind: captions in the spoken language at first": wording.rung_source,
  "too far behind: captions come late": wording.rung_behind,
};

/** The server's reasons, joined by "; ", in the words of the desk as far as it knows them. */
function reasonWords(reasons) {
  return reasons
    .split("; ")
    .map((reason) => {
      const leftOut = LEFT_OUT[reason.split(" (")[0]];
      return leftOut ? `${wording.fact_rung}: ${leftOut}.` : (REASONS[reason] ?? isolate(sentence(reason)));
    })
    .join(" ");
}

/** The label of the off-record button: what it will do, or that it ends it. */
export function offRecordWords(on) {
  return on ? wording.off_record_back : wording.off_record_hold;
}

/** What going off the record removes, "" for nothing. */
export function offRecordMore(seconds) {
  return seconds > 0 ? fill(wording.off_record_removes, { seconds: Math.round(seconds) }) : "";
}

// Commands with translated names.
const UNDONE = { pause: wording.undo_pause, blank: wording.undo_blank, "song-hold": wording.undo_song, "song-caption": wording.undo_song };

/** The label of the undo button; `what` is the server's name for what it undoes, "" for nothing. */
export function undoWords(what) {
  return what ? fill(wording.undo_what, { what: UNDONE[what] ?? what }) : wording.undo;
}

/** The song button's label, command and icon, from the operators' choice and the current state. */
export function songButton(wanted, held) {
  if (wanted === "hold") return { word: wording.captions_again, command: "song-auto", icon: "play" };
  if (wanted === "caption") return { word: wording.hold_songs_again, command: "song-auto", icon: "song" };
  if (held) return { word: wording.caption_anyway, command: "song-caption", icon: "play" };
  return { word: wording.hold_song, command: "song-hold", icon: "song" };
}

/**
 * `{word, icon, tone, reason}` for a `link` of "connecting", "open", "lost" or "outdated", and the
 * server's last state and reason. An unknown state of a newer server is shown by its own name.
 */
export function glance({ link, state, reason, offRecord = false }) {
  // After the service the server stops, and nothing is lost.
  const over = link === "lost" && state === "ended";
  const shown = offRecord && state === "blank" ? "off-record" : state;
  const name = link === "open" || over ? shown : link;
  const [word, icon, help] = GLANCES[name] ?? [name, "wait", ""];
  if (name === "lost") return { word, icon, tone: "bad", reason: help };
  const told = link === "open" && reason !== OFF_RECORD ? reasonWords(reason) : "";
  return { word, icon, tone: glanceTone(name, told), reason: [told, help].filter(Boolean).join(" ") };
}

function glanceTone(name, told) {
  if (name === "off-record" || name === "muted") return "bad"; // Readers see only "please wait".
  // It works, but with a reason: the machine already reduces its work.
  if ((name === "listening" || name === "speech") && told !== "") return "wait";
  return name === "speech" ? "good" : statusTone(name);
}

/** The label of the dictionary button, with the start of the selected words. */
export function dictionaryWords(words) {
  if (!words) return wording.dictionary;
  return fill(wording.dictionary_of, { words: words.length > 24 ? `${words.slice(0, 24)}…` : words });
}

/** The texts that js/shared/address.js shows with the audience's address. */
export function addressWords(address) {
  return { qrCode: fill(wording.qr_code, { address }), onlyHere: wording.only_here };
}

/** The name of `mode` and what it means for the audience; empty in a service. */
export function modeNote(mode) {
  if (mode === "dry-run") return [wording.rehearsal, wording.banner_rehearsal];
  return mode === "demo" ? [wording.demo, wording.banner_demo] : ["", ""];
}

const HINTS = {
  "unknown-caption": wording.hint_unknown_caption,
  "caption-changed": wording.hint_caption_changed,
  "too-large": wording.hint_too_large,
  "unknown-command": wording.hint_unknown_command,
  "rule-exists": wording.hint_rule_exists,
};

/** One line about a refusal or a fault, with a hint if the server gives none. */
export function refusal({ code, message }) {
  return [isolate(ended(message)), HINTS[code]].filter(Boolean).join(" ");
}

/** The message about a rule that was added or removed. */
export function ruleWords({ heard, write, removed, held, lang }) {
  if (removed) return fill(wording.rule_removed, { heard });
  if (lang) return fill(wording.rule_term, { heard, write });
  return fill(held ? wording.rule_held : wording.rule_added, { heard, write });
}

/** The result of reading the settings again. */
export function reloaded({ live, next_utterance, restart }) {
  const parts = [
    [live, wording.settings_live],
    [next_utterance, wording.settings_next],
    [restart, wording.settings_restart],
  ];
  const told = parts.filter(([keys]) => keys.length > 0).map(([keys, text]) => fill(text, { settings: keys.join(", ") }));
  return [wording.settings_read, ...(told.length ? told : [wording.settings_same])].join(" ");
}

/** Make a sentence of a server's phrase: "paused by the operator" is "Paused by the operator." */
function sentence(text) {
  return ended(text.charAt(0).toUpperCase() + text.slice(1));
}

function ended(text) {
  return text === "" || /[.!?]$/.test(text) ? text : `${text}.`;
}
