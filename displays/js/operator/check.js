// The check before a service: start it, and show the last result with the fixes.

import { make } from "./row.js";
import { fill, wording } from "./wording.js";

const VERDICTS = { ok: wording.verdict_ok, look: wording.verdict_look, failed: wording.verdict_failed };
const OLD_H = 24;
const HOUR_MS = 3_600_000;

/** The age of the check in words. */
export function age(utc, nowMs = Date.now()) {
  const hours = (nowMs - Date.parse(utc)) / HOUR_MS;
  if (hours < 1) return wording.check_hour;
  if (hours < OLD_H) return fill(wording.check_hours, { hours: Math.floor(hours) });
  return fill(wording.check_days, { days: Math.floor(hours / OLD_H) });
}

/** `command(name)` requests a check. */
export function listenForCheck(command) {
  document.getElementById("check-now").addEventListener("click", () => command("check"));
}

/** Enable the button if there is a server to ask. */
export function allowCheck(able) {
  const now = document.getElementById("check-now");
  now.disabled = !able || now.dataset.doing !== undefined;
}

/** Show the progress of a check that somebody started, or its result. */
export function showProgress({ doing, problem, check }) {
  const now = document.getElementById("check-now");
  if (doing) now.dataset.doing = doing;
  else delete now.dataset.doing;
  document.getElementById("check-doing").textContent = doing ? `${doing} …` : problem;
  if (!doing) showCheck(check);
}

/** Show a `check`; null means that there was none. */
export function showCheck(check) {
  const [when, list, passed] = ["check-when", "check", "check-passed"].map((id) => document.getElementById(id));
  const results = check?.results ?? [];
  const wrong = results.filter(({ verdict }) => verdict !== "ok");
  const fine = results.filter(({ verdict }) => verdict === "ok");
  when.textContent = check
    ? `${age(check.utc)} ${check.ok && !wrong.length && !check.differs?.length ? wording.check_well : ""}`
    : wording.check_none;
  const differs = check?.differs ?? [];
  document.getElementById("check-differs").hidden = differs.length === 0;
  document.getElementById("check-differs").textContent = fill(wording.check_differs, { settings: differs.join(", ") });
  for (const element of [list, passed]) element.classList.toggle("stale", differs.length > 0);
  list.replaceChildren(...wrong.map(item));
  passed.hidden = fine.length === 0;
  passed.querySelector("summary").textContent = fill(wording.check_passed, { count: fine.length });
  passed.querySelector("ul").replaceChildren(...fine.map(item));
}

// If a line has technical figures, its fix explains it in words.
const FIGURES = /dBFS|SHA-256|\//;

function item({ test, verdict, line, fix }) {
  const isFigures = FIGURES.test(line);
  const element = make("li", "", make("span", "verdict", VERDICTS[verdict] ?? verdict), " ", make("strong", "keeper", test), " ", make("bdi", isFigures && fix ? "keeper" : "", line));
  element.dataset.verdict = verdict;
  if (fix) element.append(make("p", "fix", make("bdi", "", fix)));
  return element;
}
