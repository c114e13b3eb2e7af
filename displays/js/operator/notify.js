// A quiet message at the bottom of the desk, for some seconds.

const NOTICE_MS = 12_000;
const line = document.getElementById("notice");
let timer = 0;

/** Show a text; `tone` is "bad" for a refusal. */
export function notify(text, tone = "good") {
  clearTimeout(timer);
  line.textContent = text;
  line.dataset.tone = tone;
  timer = setTimeout(() => (line.textContent = ""), NOTICE_MS);
}
