// The sermon notes: dropped here as a file, extracted on the server, corrected one by one.

import { make } from "./row.js";
import { fill, isolate, wording } from "./wording.js";

const MOST_BYTES = 4_000_000;
const PART_BYTES = 10_200; // Fits a message in Base64, in whole groups of three bytes.
const PAUSE_MS = 40; // The server accepts sixty messages a second, and a long file needs many.
const LISTS = ["names", "verses", "numbers", "terms"];

function pause() {
  return new Promise((resolve) => {
    setTimeout(resolve, PAUSE_MS);
  });
}

/** `command(name, fields)` sends part of a file or removes an entry; false if disconnected. */
export class SermonNotes {
  #list = document.getElementById("notes");
  #none = document.getElementById("no-notes");
  #drop = document.getElementById("notes-drop");
  #file = document.getElementById("notes-file");
  #progress = document.getElementById("notes-progress");
  #command;
  #files = [];
  #isSending = false;
  #isSent = false; // All parts of the file are on their way.
  #awaits = null;

  constructor(command) {
    this.#command = command;
    this.#file.addEventListener("change", () => {
      this.#add(this.#file.files);
      // Otherwise choosing the same file again is no change.
      this.#file.value = "";
    });
    for (const name of ["dragover", "dragleave", "drop"]) {
      this.#drop.addEventListener(name, (event) => {
        // Otherwise the browser opens the file instead of this page.
        event.preventDefault();
        this.#drop.classList.toggle("over", name === "dragover");
      });
    }
    this.#drop.addEventListener("drop", (event) => this.#add(event.dataTransfer.files));
  }

  /** Handle `notes`: the current entries. */
  put(lists) {
    const entries = LISTS.flatMap((name) => lists[name] ?? []);
    this.#list.replaceChildren(...entries.map((entry) => this.#entry(entry)));
    this.#none.hidden = entries.length > 0;
    // Before, it is the answer to another operator.
    if (this.#isSent) this.answered("");
  }

  /** The file is refused, with this reason; "": it is in use. */
  answered(text) {
    this.#awaits?.(text);
    this.#awaits = null;
  }

  #entry(entry) {
    const button = make("button", "", `${entry} ×`);
    button.type = "button";
    button.setAttribute("aria-label", fill(wording.note_take_out, { entry }));
    button.addEventListener("click", () => this.#command("drop-note", { entry }));
    return make("li", "", button);
  }

  async #add(files) {
    this.#files.push(...files);
    if (this.#isSending) return;
    this.#isSending = true;
    let told = "";
    while (this.#files.length > 0) told = (await this.#send(this.#files.shift())) || told;
    this.#isSending = false;
    this.#say(told);
  }

  /** Send a file and wait for the result; return the problem, "" for success. */
  async #send(file) {
    if (file.size === 0) return fill(wording.note_empty, { file: file.name });
    if (file.size > MOST_BYTES) return fill(wording.note_large, { file: file.name, size: (file.size / 1e6).toFixed(1) });
    const bytes = new Uint8Array(await file.arrayBuffer());
    const name = file.name.slice(-80); // The end has the file type.
    const answer = new Promise((resolve) => {
      this.#awaits = resolve;
    });
    this.#isSent = false;
    // A refused part clears `#awaits` and ends the upload.
    for (let at = 0; at < bytes.length && this.#awaits; at += PART_BYTES) {
      const data = btoa(String.fromCharCode(...bytes.subarray(at, at + PART_BYTES)));
      this.#isSent = at + PART_BYTES >= bytes.length;
      if (!this.#command("add-notes", { file: name, size: bytes.length, at, data })) return "";
      this.#say(isolate(`${file.name}: ${Math.floor((100 * at) / bytes.length)} %`));
      await pause();
    }
    if (this.#awaits) this.#say(fill(wording.note_reading, { file: file.name }));
    return answer;
  }

  #say(text) {
    this.#progress.textContent = text;
  }
}
