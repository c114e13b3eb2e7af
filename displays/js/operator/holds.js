// The buttons that have to be held: what they do cannot be taken back.

import { needHold } from "./hold.js";
import { wording } from "./wording.js";

const at = (id) => document.getElementById(id);

/** `operator` is what the page knows, `command(name)` sends, `notify(text)` says, `more()` what going off the record takes away. */
export function listenForHolds(operator, command, notify, more) {
  needHold(at("off-record"), {
    needed: () => !operator.offRecord, // The way back is a press.
    act: () => command(operator.offRecord ? "on-record" : "off-record"),
    tooShort: () => notify([wording.off_record_short, more()].filter(Boolean).join(" ")),
  });
  needHold(at("new-session"), {
    needed: () => true,
    act() {
      notify(wording.session_begins); // Unless it is refused, which is told then.
      command("new-session");
    },
    tooShort: () => notify(wording.session_short),
  });
}
