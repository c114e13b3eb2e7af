// The options in the overlay's address. Each value is checked before it reaches a style; an invalid
// one keeps its default: on air nothing may look broken. No DOM.

const NAMED = /^[a-z]{3,24}$/;
const HEX = /^#?((?:[0-9a-f]{3,4}){1,2})$/;
const KEYWORDS = new Set(["inherit", "initial", "unset", "revert", "currentcolor"]); // not colours
const FAMILY = /^[\p{L}\p{N}][\p{L}\p{N} _-]{0,60}$/u;
const LANGUAGE = /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/;

/** A reader returns the value, or undefined if it is invalid. A choice's reader has `words`. */
function number(least, most) {
  return (text) => {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    return value >= least && value <= most ? value : undefined;
  };
}

/** A length. `most` has the maximum per unit; the first unit is the default. */
function length(most) {
  const [usual] = Object.keys(most);
  return (text) => {
    const found = /^(\d+(?:\.\d+)?)([a-z%]*)$/.exec(text);
    const unit = found?.[2] || usual;
    return found && Number(found[1]) <= most[unit] ? `${Number(found[1])}${unit}` : undefined;
  };
}

function above(least, read) {
  return (text) => {
    const value = read(text);
    return value !== undefined && Number.parseFloat(value) >= least ? value : undefined;
  };
}

function choice(...words) {
  return Object.assign((text) => (words.includes(text) ? text : undefined), { words });
}

function color(...words) {
  return (text) => {
    if (words.includes(text)) return text;
    const hex = HEX.exec(text);
    if (hex) return `#${hex[1]}`;
    const known = NAMED.test(text) && !KEYWORDS.has(text) && globalThis.CSS.supports("color", text);
    return known ? text : undefined;
  };
}

/** Family names, each in quotes, so that they cannot be anything else. */
function family(text) {
  const names = text.split(",").map((name) => name.trim());
  return names.length <= 5 && names.every((name) => FAMILY.test(name))
    ? `${names.map((name) => `"${name}"`).join(", ")}, sans-serif`
    : undefined;
}

function language(text) {
  return LANGUAGE.test(text) ? text : undefined;
}

function option(name, fallback, says, read, names = [name]) {
  return { name, fallback, says, read, names };
}

/** All options in help order: name, default as written, description, reader, all names. */
export const OPTIONS = [
  option("lang", "", "language of the captions, such as es; empty: the server's", language),
  option("show", "target", "target: the captions; source: the spoken words; both: one under the other", choice("target", "source", "both")),
  option("mode", "rollup", "rollup: line by line upward; blocks: whole captions take turns", choice("rollup", "blocks")),
  option("lines", "2", "lines at a time, 1 to 8", (text) => (/^[1-8]$/.test(text) ? Number(text) : undefined)),
  option("size", "5vh", "letter size: 54 (pixels), or 5vh for 5 % of the picture's height", above(1, length({ px: 400, vh: 30, vw: 20 }))),
  option("font", "", "a font of this computer, such as Arial, or several parted by commas", family),
  option("weight", "600", "how bold: 100 to 900", (text) => (/^[1-9]00$/.test(text) ? Number(text) : undefined)),
  option("case", "as-is", "as-is, or upper for capitals only", choice("as-is", "upper")),
  option("color", "ffffff", "of the letters: ffcc00, ffcc00aa (the last two: how solid), or a CSS name", color(), ["color", "colour"]),
  option("outline", "7", "line around the letters, in percent of their size, 0 to 20", number(0, 20)),
  option("edge", "000000", "colour of that line", color()),
  option("box", "none", "colour of a box behind the text; none for no box", color("none")),
  option("opacity", "60", "how solid the box is, in percent", number(0, 100)),
  option("background", "transparent", "colour of the whole page, where a mixer keys a colour out", color("transparent")),
  option("position", "bottom", "bottom, middle or top", choice("bottom", "middle", "top")),
  option("align", "center", "left, center or right", choice("left", "center", "right")),
  option("margin", "5%", "free at the edges: 5 or 5% of the picture, or 40px", length({ "%": 40, px: 800, vh: 40, vw: 40 })),
  option("width", "90%", "the widest that text may be: 90 or 90%, or 1200px", above(5, length({ "%": 100, px: 7680, vw: 100 }))),
  option("hide", "15", "seconds without speech after which the text goes; 0: it stays", number(0, 3600), ["hide", "clear"]),
  option("partials", "dim", "words still uncertain: dim, solid, or none to show finals only", choice("dim", "solid", "none")),
  option("states", "0", "1 shows small what the captions wait for, such as a lost microphone", choice("0", "1")),
];
const FLAGS = new Set(["help", "demo"]);

/**
 * Read an address's query. `values` by name; `given`: the valid names in it; `wrong`: sentences
 * about the invalid ones.
 */
export function readOptions(query) {
  const values = Object.fromEntries(OPTIONS.map(({ name, fallback, read }) => [name, fallback && read(fallback)]));
  const given = new Set();
  const wrong = [];
  for (const [key, written] of query) {
    const known = OPTIONS.find(({ names }) => names.includes(key.toLowerCase()));
    const text = known?.read === family ? written.trim() : written.trim().toLowerCase();
    if (FLAGS.has(key) || (known && text === "")) continue;
    const value = known?.read(text);
    if (value !== undefined) {
      values[known.name] = value;
      given.add(known.name);
    } else if (known) {
      wrong.push(`${key}=${written} is not understood, so ${known.name} stays as it is. It is ${known.says}.`);
    } else {
      wrong.push(`There is no parameter ${key}. Known are ${OPTIONS.map(({ name }) => name).join(", ")}.`);
    }
  }
  return { values, given, wrong };
}
