// The buttons that must be held, because their effect is irreversible.

import { needHold } from "./hold.js";
import { wording } from "./wording.js";

const at = (id) => document.getElementById(id);

/** `operator` is the page's state; `more()` says what going off the record removes. */
export function listenForHolds(operator, command, notify, more) {
  needHold(at("off-record"), {
    needed: () => !operator.offRecord, // Going back on the record takes a press.
    act: () => command(operator.offRecord ? "on-record" : "off-record"),
    tooShort: () => notify([wording.off_record_short, more()].filter(Boolean).join(" ")),
  });
  needHold(at("new-session"), {
    needed: () => true,
    act() {
      notify(wording.session_begins); // A refusal is reported later.
      command("new-session");
    },
    tooShort: () => notify(wording.session_short),
  });
}
