// The buttons for the whole service: what each one does now.

import { button, setText } from "./controls.js";
import { showSpoken } from "./languages.js";
import { offRecordMore, offRecordWords, songButton, undoWords } from "./state.js";
import { wording } from "./wording.js";

/** Connect the buttons to `command(name, fields)`. */
export function listenForButtons(element, operator, command, isSong) {
  element.pause.addEventListener("click", () => command(operator.paused ? "resume" : "pause"));
  element.song.addEventListener("click", () => command(songButton(operator.song, isSong()).command));
  element.blank.addEventListener("click", () => command(operator.blank ? "unblank" : "blank"));
  // Only what the button names: another operator may have done something since.
  element.undo.addEventListener("click", () => command("undo", { step: operator.awaits ? "" : operator.undo }));
}

/**
 * Update all buttons. `element` holds them by id, `operator` is the page's state, `isSong` says
 * that captions are held, and `heard` is the language that is spoken now.
 */
export function renderButtons(element, operator, { able, isSong, heard, command }) {
  button(element.pause, able, operator.paused ? wording.resume : wording.pause, operator.paused ? "play" : "paused");
  button(element.blank, able, operator.blank ? wording.unblank : wording.blank, operator.blank ? "screen" : "blank");
  // A command can be undone before its answer arrives: the server runs commands in order.
  button(element.undo, able && (operator.undo !== "" || operator.awaits), undoWords(operator.undo), "undo");
  button(element["off-record"], able, offRecordWords(operator.offRecord), operator.offRecord ? "play" : "off-record");
  setText(element["off-record-more"], operator.offRecord ? "" : offRecordMore(operator.offRecordS));
  const song = songButton(operator.song, isSong);
  button(element.song, able, song.word, song.icon);
  element.song.hidden = operator.song === "off";
  element.song.classList.toggle("on", operator.song !== "auto");
  showSpoken({ ...operator, now: operator.forced || heard }, able, (lang) => command("spoken", { lang }));
  element["off-record"].classList.toggle("on", operator.offRecord);
  element.pause.classList.toggle("on", operator.paused);
  element.blank.classList.toggle("on", operator.blank);
  document.body.classList.toggle("dark-screens", operator.blank);
}
