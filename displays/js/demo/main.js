// The demo's page: the real wall, phone and desk in full-size frames, and what to look at now.

import { loadToken } from "../shared/operator_token.js";
import { STEPS } from "./steps.js";

const ASK_MS = 1000;
const RECORDING = "service.flac";
const [now, list] = ["now", "steps"].map((id) => document.getElementById(id));
const items = STEPS.map(({ name }) => {
  const item = document.createElement("li");
  item.textContent = name;
  return item;
});
let hasBegun = false;

/** Draw a frame at the width of its own screen and scale it to the available space. */
function fit(frame) {
  const [room, width] = [frame.parentElement, Number(frame.dataset.width)];
  new ResizeObserver(() => {
    const scale = room.clientWidth / width;
    Object.assign(frame.style, { width: `${width}px`, height: `${room.clientHeight / scale}px`, transform: `scale(${scale})` });
  }).observe(room);
}

function tell({ source, audio_s: at, state }) {
  if (state === "ended") return finish();
  // A past service or the synthetic sermon has none of these steps.
  if (!source.endsWith(RECORDING) || at <= 0) return;
  hasBegun = true;
  const current = STEPS.findLastIndex(({ from }) => from <= at + 0.5);
  items.forEach((item, place) => {
    item.classList.toggle("past", place < current);
    item.toggleAttribute("aria-current", place === current);
  });
  const { says } = STEPS[Math.max(current, 0)];
  if (now.textContent !== says) now.textContent = says;
}

function finish() {
  now.textContent = "That was the demo. Next, hear yourself: type “stark-translate run” in the terminal.";
}

async function ask() {
  try {
    tell(await (await fetch("/healthz", { cache: "no-store" })).json());
  } catch {
    if (hasBegun) return finish();
  }
  setTimeout(ask, ASK_MS);
}

async function open() {
  loadToken(); // The desk's frame reads it from this tab.
  const { langs } = await (await fetch("/address")).json();
  const other = langs.includes("fr") ? "fr" : langs[0];
  document.getElementById("phone-caption").textContent = `A phone: ${new Intl.DisplayNames("en", { type: "language" }).of(other)}`;
  const pages = { wall: "/projector", phone: `/?lang=${other}`, desk: "/operator" };
  for (const [id, page] of Object.entries(pages)) {
    const frame = document.getElementById(id);
    fit(frame);
    frame.src = page;
  }
  list.replaceChildren(...items);
}

open();
ask();
