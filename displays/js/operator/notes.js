// The notes of the sermon: dropped here as a file, drawn out on the server, corrected one by one.

import { make } from "./row.js";
import { fill, isolate, wording } from "./wording.js";

const MOST_BYTES = 4_000_000;
const PART_BYTES = 10_200; // In Base64 below the limit of a message, and whole groups of three.
const PAUSE_MS = 40; // A display may send sixty messages a second, and a long file is many.
const LISTS = ["names", "verses", "numbers", "terms"];

function pause() {
  return new Promise((resolve) => {
    setTimeout(resolve, PAUSE_MS);
  });
}

/** `command(name, fields)` sends a part of a file, or an entry to take out; false where the connection is lost. */
export class SermonNotes {
  #list = document.getElementById("notes");
  #none = document.getElementById("no-notes");
  #drop = document.getElementById("notes-drop");
  #file = document.getElementById("notes-file");
  #progress = document.getElementById("notes-progress");
  #command;
  #files = [];
  #isSending = false;
  #awaits = null;

  constructor(command) {
    this.#command = command;
    this.#file.addEventListener("change", () => {
      this.#add(this.#file.files);
      // Else the same file, chosen once more, would be no change.
      this.#file.value = "";
    });
    for (const name of ["dragover", "dragleave", "drop"]) {
      this.#drop.addEventListener(name, (event) => {
        // Else the browser would open the file in place of this page.
        event.preventDefault();
        this.#drop.classList.toggle("over", name === "dragover");
      });
    }
    this.#drop.addEventListener("drop", (event) => this.#add(event.dataTransfer.files));
  }

  /** Take a `notes`: what is known now. */
  put(lists) {
    const entries = LISTS.flatMap((name) => lists[name] ?? []);
    this.#list.replaceChildren(...entries.map((entry) => this.#entry(entry)));
    this.#none.hidden = entries.length > 0;
    this.#answered("");
  }

  /** Take a refusal of a file: `text` says why. */
  refuse(text) {
    this.#answered(text);
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

  /** Send a file, and wait for what comes of it; return why not, "" if all went well. */
  async #send(file) {
    if (file.size === 0) return fill(wording.note_empty, { file: file.name });
    if (file.size > MOST_BYTES) return fill(wording.note_large, { file: file.name, size: (file.size / 1e6).toFixed(1) });
    const bytes = new Uint8Array(await file.arrayBuffer());
    const name = file.name.slice(-80); // Its end says what it is.
    const answer = new Promise((resolve) => {
      this.#awaits = resolve;
    });
    // Nothing is awaited any more once a part was refused.
    for (let at = 0; at < bytes.length && this.#awaits; at += PART_BYTES) {
      const data = btoa(String.fromCharCode(...bytes.subarray(at, at + PART_BYTES)));
      if (!this.#command("add-notes", { file: name, size: bytes.length, at, data })) return "";
      this.#say(isolate(`${file.name}: ${Math.floor((100 * at) / bytes.length)} %`));
      await pause();
    }
    if (this.#awaits) this.#say(fill(wording.note_reading, { file: file.name }));
    return answer;
  }

  /** What was sent last is in use, or refused. */
  #answered(text) {
    this.#awaits?.(text);
    this.#awaits = null;
  }

  #say(text) {
    this.#progress.textContent = text;
  }
}
