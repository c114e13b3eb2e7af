// The models of the engines. Starter models in a real service are a mistake that must be visible.

import { isolate, wording } from "./wording.js";

const ENGINES = { whisper: wording.engine_whisper, marian: wording.engine_marian, gemma: wording.engine_gemma };
const HASH_DIGITS = 8;

/** Show the models in a list, and the note if any of them is a starter model. */
export function showModels(models, list, note) {
  note.hidden = !models.some(({ setting }) => setting === "starter");
  list.replaceChildren(...models.flatMap(({ engine, setting, file, sha256 }) => [
    tag("dt", ENGINES[engine] ?? engine),
    tag("dd", isolate([setting, file, sha256.slice(0, HASH_DIGITS)].filter(Boolean).join(", "))),
  ]));
}

function tag(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** Show whose audio is kept, if any is. */
export function showKeptSound(kept, element) {
  const says = { doubtful: wording.kept_doubtful, all: wording.kept_all }[kept];
  element.hidden = !says;
  element.textContent = says ?? "";
}
