// The status that a page shows: the name of a word in js/shared/i18n.js, and a tone for its colour.

const TONES = {
  connecting: "wait",
  reconnecting: "wait",
  outdated: "bad",
  rehearsal: "wait",
  starting: "wait",
  listening: "good",
  paused: "wait",
  song: "wait",
  blank: "wait",
  behind: "wait",
  muted: "wait",
  "no-audio": "bad",
  fault: "bad",
  ended: "off",
};

/** The status of a page with this `link` and the server's last `mode` and `state` ("" at first). */
export function statusName({ link, mode, state }) {
  if (link === "connecting" || link === "outdated") return link;
  // After the service the server stops; nobody needs to know that the page retries.
  if (state === "ended") return "ended";
  if (link === "lost") return "reconnecting";
  if (mode === "dry-run") return "rehearsal";
  // Speech starts and stops with every sentence; a word that follows it would distract.
  return state === "speech" ? "listening" : state;
}

/** "good", "wait", "bad" or "off"; "wait" for an unknown status of a newer server. */
export function statusTone(name) {
  return TONES[name] ?? "wait";
}
