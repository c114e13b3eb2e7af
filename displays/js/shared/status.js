// The one thing a page says about how it goes: the name of a word in js/shared/i18n.js, and a tone for its colour.

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

/** The status of a page whose link is `link`, with the server's last `mode` and `state` ("" before the first). */
export function statusName({ link, mode, state }) {
  if (link === "connecting" || link === "outdated") return link;
  // After the service the server goes away, and nobody needs to hear that we look for it.
  if (state === "ended") return "ended";
  if (link === "lost") return "reconnecting";
  if (mode === "dry-run") return "rehearsal";
  // Speech comes and goes with every sentence; a word that follows it would only distract.
  return state === "speech" ? "listening" : state;
}

/** "good", "wait", "bad" or "off". A status of a newer server that we do not know waits. */
export function statusTone(name) {
  return TONES[name] ?? "wait";
}
