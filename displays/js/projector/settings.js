// The options in the projector page's address.
//   ?mode=rollup|blocks          lines roll up as spoken (default), or whole sentences in turn
//   ?show=target|both|beside     only the caption (default), the spoken text under it, or beside it
//   ?tail=0|1                    only a partial's committed prefix (default), or a dimmed rest too
//   ?lang=es                     the language; default: the server's target
//   ?size=100                    type size, in percent of the usual size (40 to 200)
//   ?lines=                      maximum of lines (1 to 12); default: what fits, and 3 in blocks
//   ?captions=3                  maximum of captions at a time (1 to 6); fewer if they do not fit
//   ?margin=6                    free space at each edge, in percent of the picture (0 to 20)
//   ?place=bottom|centre|top     position of the captions
//   ?ground=dark|light           white on black (default), or black on white for bright rooms
//   ?clear=20                    clear the screen after these seconds without speech; 0: never
//   ?states=0                    only captions: no status of the service

const query = new URLSearchParams(location.search);

/** The number of this parameter, or the default if it is missing or out of range. */
function number(name, fallback, least, most) {
  const value = Number.parseFloat(query.get(name));
  return value >= least && value <= most ? value : fallback;
}

/** The word of this parameter, or the first of `words`. */
function choice(name, ...words) {
  return words.includes(query.get(name)) ? query.get(name) : words[0];
}

const mode = choice("mode", "rollup", "blocks");
const show = choice("show", "target", "both", "beside");

export const settings = {
  blocks: mode === "blocks",
  show,
  // With the source text a caption stays whole: its parts cannot be matched to the source's parts.
  paged: show === "target",
  tail: choice("tail", "0", "1") === "1",
  lang: query.get("lang") ?? "",
  size: number("size", 100, 40, 200) / 100,
  lines: Math.floor(number("lines", mode === "blocks" ? 3 : 12, 1, 12)),
  captions: Math.floor(number("captions", 3, 1, 6)),
  margin: number("margin", 6, 0, 20),
  states: query.get("states") !== "0",
  place: choice("place", "bottom", "centre", "top"),
  isLight: choice("ground", "dark", "light") === "light",
  clearMs: number("clear", 20, 0, 3600) * 1000,
};
