// The overlay without a service: `?demo` loops sample captions, to place the source in the
// scene; `?help` also shows every option, each with a field to try it.

import { OPTIONS, readOptions } from "./options.js";

const SAID = [
  ["Good morning, and welcome.", "Buenos días y bienvenidos."],
  ["This is how captions will look while somebody speaks.", "Así se verán los subtítulos mientras alguien habla."],
  [
    "A longer sentence takes more than one line, so that you can see how the lines move up and how long they stay.",
    "Una frase más larga ocupa más de una línea, para que se vea cómo suben las líneas y cuánto tiempo permanecen.",
  ],
  ["Amen.", "Amén."],
  ["After a pause the text goes away by itself.", "Después de una pausa el texto desaparece solo."],
];
const WORD_MS = 320;
const PAUSE_MS = 700;

function wait(ms) {
  return new Promise((done) => {
    setTimeout(done, ms);
  });
}

/** Send the sample captions to `receive` in an endless loop, as a server would. */
async function play(receive, hideS) {
  let seq = 0;
  let id = 0;
  receive({ type: "hello", source: "en", lang: "es", mode: "demo", state: "listening", resumed: false, seq, captions: [] });
  for (;;) {
    receive({ type: "status", mode: "demo", state: "speech" });
    for (const [en, es] of SAID) {
      id += 1;
      const [spoken, shown] = [en.split(" "), es.split(" ")];
      for (let count = 1; count <= shown.length; count += 1) {
        const final = count === shown.length;
        const text = shown.slice(0, count).join(" ");
        const stable = shown.slice(0, Math.max(0, count - 2)).join(" ").length;
        const heard = spoken.slice(0, Math.ceil((spoken.length * count) / shown.length)).join(" ");
        receive({
          type: "caption", seq: (seq += 1), id, final, stable: final ? text.length : stable, start_s: id * 8, end_s: id * 8 + 4,
          source: { lang: "en", text: heard }, target: { lang: "es", text },
        });
        await wait(WORD_MS);
      }
      await wait(PAUSE_MS);
    }
    receive({ type: "status", mode: "demo", state: "listening" });
    // Long enough to see the text disappear, short enough that it does not look broken.
    await wait((Math.min(hideS, 8) + 2) * 1000);
  }
}

function make(name, text = "", attributes = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** The address for the values in `fields`: only those that differ from the default. */
function addressOf(fields) {
  const url = new URL(location.pathname, location.href);
  for (const { name, fallback } of OPTIONS) {
    const written = fields.get(name).value.trim();
    if (written !== "" && written !== fallback) url.searchParams.set(name, written);
  }
  return url;
}

/** The table of all options, each with a field to try it, and the resulting address. */
function helpPanel(query) {
  const { given, wrong } = readOptions(query);
  const fields = new Map();
  const table = make("table");
  table.append(make("caption", "Parameters of this page's address"));
  for (const { name, names, fallback, says, read } of OPTIONS) {
    const written = names.map((each) => query.get(each)).find((each) => each !== null) ?? "";
    const field = read.words ? make("select") : make("input", "", { placeholder: fallback, spellcheck: "false", autocomplete: "off" });
    field.id = `try-${name}`;
    field.append(...(read.words ?? []).map((word) => make("option", word)));
    const unset = read.words ? fallback : "";
    field.value = given.has(name) ? written : unset;
    fields.set(name, field);
    const head = make("th", "", { scope: "row" });
    head.append(make("label", name, { for: field.id }));
    const cell = make("td");
    cell.append(field);
    const row = make("tr");
    row.append(head, cell, make("td", says));
    table.append(row);
  }
  const address = make("input", "", { id: "address", readonly: "" });
  address.value = addressOf(fields).href;
  address.addEventListener("focus", () => address.select());
  const form = make("form", "", { class: "help", "aria-label": "Caption overlay" });
  const label = make("label", "Address for the browser source", { for: "address" });
  form.append(make("h1", "Caption overlay"), label, address, ...wrong.map((each) => make("p", each, { class: "wrong" })), table);
  form.append(make("button", "Try it"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.assign(`${addressOf(fields).search.replace(/^\??/, "?help&").replace(/&$/, "")}`);
  });
  table.addEventListener("change", () => form.requestSubmit());
  return form;
}

/** Show sample captions, and with `?help` also the options. */
export function preview(query, receive) {
  const { values } = readOptions(query);
  if (query.has("help")) {
    document.documentElement.classList.add("helping");
    document.body.append(helpPanel(query));
  }
  play(receive, values.hide);
}
