// Whose devices may send commands: add one with a code, sign one out.

import { make } from "./row.js";
import { fill, wording } from "./wording.js";

/** "123 456": digits in groups, as people read them. */
export function spaced(code) {
  return `${code.slice(0, 3)} ${code.slice(3)}`;
}

/** `send(message)` sends an operator's message. */
export class VolunteerList {
  #list = document.getElementById("volunteers");
  #none = document.getElementById("no-volunteers");
  #invitation = document.getElementById("invitation");
  #code = document.getElementById("invitation-code");
  #for = document.getElementById("invitation-for");
  #picture = document.getElementById("invitation-qr");
  #send;
  #timer = 0;
  #count = 0;

  constructor(send) {
    this.#send = send;
    document.getElementById("invite").addEventListener("click", () => send({ type: "invite" }));
  }

  /** Handle `volunteers`. Not fewer than before: the code was used, also by one of the same name. */
  changed(message) {
    if (message.names.length >= this.#count) this.#hide();
    this.put(message);
  }

  /** Show the volunteers' `names`. */
  put({ names }) {
    if (names.length > this.#count) this.#hide();
    this.#count = names.length;
    this.#none.hidden = names.length > 0;
    this.#list.replaceChildren(...names.map((name) => this.#row(name)));
  }

  /** Handle `invitation`: show its code while it is valid. */
  invite({ code, for_s: forS }) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#hide(), forS * 1000);
    this.#code.textContent = spaced(code);
    // Empty if other devices can open the page.
    const { textContent: problem } = document.getElementById("address-problem");
    this.#for.textContent = `${fill(wording.invitation_for, { minutes: Math.round(forS / 60) })} ${problem}`.trim();
    this.#picture.src = `/qr.svg?code=${code}`;
    this.#picture.alt = fill(wording.qr_code, { address: spaced(code) });
    this.#invitation.hidden = this.#picture.hidden = false;
  }

  #hide() {
    clearTimeout(this.#timer);
    this.#invitation.hidden = this.#picture.hidden = true;
    this.#picture.removeAttribute("src");
    this.#code.textContent = "";
  }

  #row(name) {
    const button = make("button", "", wording.sign_out);
    button.type = "button";
    button.setAttribute("aria-label", fill(wording.sign_out_name, { name }));
    button.addEventListener("click", () => this.#send({ type: "revoke", name }));
    return make("li", "", make("span", "", name), button);
  }
}
