// How well the displays and the machine keep up, from the server's `health`.

import { languageName } from "../shared/i18n.js";
import { recall, remember } from "../shared/storage.js";
import { setText } from "./controls.js";
import { make, time } from "./row.js";
import { fill, isolate, wording } from "./wording.js";

const DETAILS = "operator-details";
const KINDS = {
  audience: wording.kind_audience,
  projector: wording.kind_projector,
  obs: wording.kind_obs,
  operator: wording.kind_operator,
  voice: "🎧", // An icon needs no translation.
};
const RUNGS = {
  full: wording.rung_full,
  "fewer-partials": wording.rung_fewer_partials,
  "no-partials": wording.rung_no_partials,
  "partial-engine-finals": wording.rung_partial_finals,
  "source-captions": wording.rung_source,
  behind: wording.rung_behind,
};
const DROPS = {
  blocks: wording.drop_blocks,
  records: wording.drop_records,
  partials: wording.drop_partials,
  drafts: wording.drop_drafts,
};

/** Seconds in readable form: "0.8 s", "12 min", "2 h 5 min". */
export function span(seconds) {
  if (seconds < 60) return isolate(`${seconds.toFixed(seconds < 10 ? 1 : 0)} s`);
  const min = Math.floor(seconds / 60);
  return isolate(min < 60 ? `${min} min` : `${Math.floor(min / 60)} h ${min % 60} min`);
}

/** `[term, description, troubling, forKeepers]` for each fact about the machine. */
export function facts({ lag_s, rung, setback, queues, dropped, memory_mb, uptime_s, source }) {
  const drops = Object.entries(dropped).filter(([, count]) => count > 0);
  const waiting = fill(wording.waiting_counts, { hear: queues.mailbox ?? 0, translate: queues.drafts ?? 0 });
  const lost = (dropped.blocks ?? 0) + (dropped.records ?? 0) > 0;
  return [
    [wording.fact_lag, span(lag_s), lag_s > 4],
    [wording.fact_rung, RUNGS[rung] ?? rung, rung !== "full"],
    ...(setback ? [[wording.engine_gemma, isolate(setback), true]] : []),
    [wording.fact_waiting, waiting, false, true],
    [wording.fact_dropped, drops.map(dropWords).join(", ") || wording.dropped_none, lost, true],
    [wording.fact_memory, isolate(`${Math.round(memory_mb)} MB`), false, true],
    [wording.fact_uptime, span(uptime_s), false],
    [wording.fact_input, isolate(source), false],
  ];
}

function dropWords([name, count]) {
  return fill(DROPS[name] ?? `{count} ${name}`, { count });
}

/** Let the checkbox `toggle` show details that only maintainers of the machine need. */
export function listenForDetails(toggle) {
  const show = () => document.body.classList.toggle("details", toggle.checked);
  toggle.checked = recall("localStorage", DETAILS) === "on";
  toggle.addEventListener("change", () => {
    remember("localStorage", DETAILS, toggle.checked ? "on" : "off");
    show();
  });
  show();
}

export class Panel {
  #table = document.getElementById("displays");
  #none = document.getElementById("no-displays");
  #slowest = document.getElementById("slowest");
  #machine = document.getElementById("machine");
  #tab = document.getElementById("tab-setup");
  #readers = document.getElementById("readers");

  put(health) {
    this.#table.hidden = health.displays.length === 0;
    this.#none.hidden = !this.#table.hidden;
    this.#table.tBodies[0].replaceChildren(...health.displays.map(row));
    this.#slowest.hidden = health.slowest.length === 0;
    this.#slowest.querySelector("ol").replaceChildren(...health.slowest.map(single));
    const told = facts(health);
    this.#machine.replaceChildren(...told.flatMap(fact));
    this.#tab.classList.toggle("troubled", told.some(([, , isTroubling]) => isTroubling));
    const readers = counts(health.displays);
    this.#readers.hidden = readers === "";
    setText(this.#readers, readers);
  }
}

/** Who reads, in brief: "Projector 1, Phones 12"; "" for nobody. */
export function counts(displays) {
  const found = new Map();
  for (const { kind, clients } of displays) if (kind !== "operator") found.set(kind, (found.get(kind) ?? 0) + clients);
  return [...found].map(([kind, count]) => `${KINDS[kind] ?? kind} ${isolate(count)}`).sort().join(" · ");
}

function row({ kind, lang, clients, glass_ms }) {
  const name = make("th", "", KINDS[kind] ?? kind);
  name.scope = "row";
  const cells = [languageName(lang), String(clients)].map((text) => make("td", "", text));
  const delays = [glass_ms?.p50, glass_ms?.p95].map((ms) => make("td", "keeper", delay(ms)));
  return make("tr", "", name, ...cells, ...delays);
}

function delay(ms) {
  return ms === undefined || ms === null ? "–" : time(ms);
}

function single({ name, kind, lang, glass_ms, behind }) {
  const late = behind > 0 ? `, ${fill(wording.display_behind, { count: behind })}` : "";
  return make("li", "", `${KINDS[kind] ?? kind} ${name}, ${lang}: ${delay(glass_ms)}${late}`);
}

// A maintainer's detail is shown to everybody if it signals trouble.
function fact([term, description, troubling, forKeepers = false]) {
  const whose = forKeepers && !troubling ? "keeper" : "";
  return [make("dt", whose, term), make("dd", troubling ? "troubling" : whose, description)];
}
