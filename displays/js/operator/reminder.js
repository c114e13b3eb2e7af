// Reminds of a forgotten state in which speech is lost or not shown while somebody keeps speaking.

import { setText } from "./controls.js";
import { wording } from "./wording.js";

const LONG_MS = 20_000;
const LOOK_MS = 500;
const WALLS = new Set(["projector", "obs"]);
const at = (id) => document.getElementById(id);

// The server measures speech for these; `end` is the id of the button that ends the state.
const TOLD = {
  "pause-forgotten": { text: wording.remind_pause, end: "pause", word: wording.resume, holds: ({ paused }) => paused },
  "song-hold-forgotten": { text: wording.remind_song, end: "song", word: wording.captions_again, holds: ({ song }) => song === "hold" },
  "blank-forgotten": { text: wording.remind_blank, end: "blank", word: wording.unblank, holds: ({ blank }) => blank },
};
const SEEN = {
  muted: { text: wording.remind_muted },
  wall: { text: wording.remind_wall },
};

/** Tracks what this page itself sees: a muted microphone, and speech after the last wall left. */
export class Watch {
  #hadWall = false;
  #hasWall = false;
  #sinceMs = { muted: null, wall: 0 };
  #lastMs = null;

  /** Handle the displays of a `health`. */
  displays(displays) {
    this.#hasWall = displays.some(({ kind, clients }) => WALLS.has(kind) && clients > 0);
    this.#hadWall ||= this.#hasWall;
    if (this.#hasWall) this.#sinceMs.wall = 0;
  }

  /** Evaluate the `state` of the service; return the reminder: "muted", "wall" or "". */
  look(state, nowMs) {
    const passedMs = nowMs - (this.#lastMs ?? nowMs);
    this.#lastMs = nowMs;
    if (state !== "muted") this.#sinceMs.muted = null;
    else this.#sinceMs.muted ??= nowMs;
    if (state === "speech" && this.#hadWall && !this.#hasWall) this.#sinceMs.wall += passedMs;
    if (state === "muted" && nowMs - this.#sinceMs.muted >= LONG_MS) return "muted";
    return this.#sinceMs.wall >= LONG_MS ? "wall" : "";
  }
}

/** The reminder line. `operator` and `server` are the page's state. */
export class Reminder {
  #watch = new Watch();
  #operator;
  #server;
  #told = null;
  #seen = "";
  #left = "";

  constructor(operator, server) {
    [this.#operator, this.#server] = [operator, server];
    at("reminder-end").addEventListener("click", () => at(this.#told.end).click());
    at("reminder-leave").addEventListener("click", () => {
      [this.#told, this.#left] = [null, this.#seen];
      this.render();
    });
    setInterval(() => this.#look(), LOOK_MS);
  }

  /** Handle a `fault`; return whether it is a reminder. */
  fault({ code }) {
    if (!(code in TOLD)) return false;
    this.#told = TOLD[code];
    this.render();
    return true;
  }

  /** Handle `health`. */
  health({ displays }) {
    this.#watch.displays(displays);
  }

  render() {
    if (this.#told && !this.#told.holds(this.#operator)) this.#told = null;
    const now = this.#told ?? (this.#seen !== this.#left ? SEEN[this.#seen] : undefined);
    at("reminder").hidden = now === undefined;
    if (now === undefined) return;
    setText(at("reminder-text"), now.text);
    at("reminder-end").hidden = !now.end;
    setText(at("reminder-end"), now.word ?? "");
  }

  #look() {
    this.#seen = this.#watch.look(this.#server.link === "open" ? this.#server.state : "", performance.now());
    if (this.#seen === "") this.#left = ""; // A new occurrence is shown again.
    this.render();
  }
}
