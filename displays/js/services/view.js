// An entry of the list, and the texts of one service.

import { languageName, pickLang, setLanguage } from "../shared/i18n.js";
import { nameOf } from "./words.js";

const SIDES = ["source", "target"];
const MINUTE_S = 60;

function make(tag, className, text) {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}

/** The time of a service by the church's clock: "Sunday, 22 November 2026 at 09:30". */
export function day({ began, name }, lang) {
  if (!began) return name;
  // The time zone is cut off, to print the church's local time.
  const here = new Date(`${began.slice(0, "2026-11-22T09:30:00".length)}Z`);
  return new Intl.DateTimeFormat(lang, { dateStyle: "full", timeStyle: "short", timeZone: "UTC" }).format(here);
}

/** The length and languages of a service. */
export function about({ length_s: seconds, source, targets, mode }, lang) {
  const minutes = Math.max(1, Math.round(seconds / MINUTE_S));
  const length = new Intl.NumberFormat(lang, { style: "unit", unit: "minute", unitDisplay: "long" }).format(minutes);
  const kind = mode === "live" ? "" : ` · ${nameOf(mode, pickLang([lang]))}`;
  return `${length} · ${languageName(source)} – ${targets.map(languageName).join(", ")}${kind}`;
}

/** A list entry that links to the service. */
export function entry(service, lang) {
  const link = Object.assign(document.createElement("a"), { href: `#${encodeURIComponent(service.name)}` });
  link.append(make("span", "day", day(service, lang)), " ", make("span", "about", about(service, lang)));
  const item = document.createElement("li");
  item.append(link);
  return item;
}

/** The paragraphs of a service; `which` is "source", "target" or "both". */
export function texts({ service, paragraphs }, which) {
  const sides = which === "both" ? SIDES : [which];
  return paragraphs.flatMap((paragraph) =>
    sides
      .filter((side) => paragraph[side] && !(side === "target" && sides.length > 1 && paragraph.target === paragraph.source))
      .map((side) => {
        const text = make("p", side === "source" ? "said" : "shown", paragraph[side]);
        setLanguage(text, service[side]);
        return text;
      }),
  );
}

/** A button; `isPressed` null means that it has no pressed state. */
export function choice(text, isPressed, onPress) {
  const button = make("button", "", text);
  button.type = "button";
  if (isPressed !== null) button.setAttribute("aria-pressed", String(isPressed));
  button.addEventListener("click", () => onPress(button));
  return button;
}
