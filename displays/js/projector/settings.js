// What the projector page's address says.
//   ?mode=rollup|blocks          lines that roll up as they are spoken (default), or whole sentences, one at a time
//   ?show=target|both|beside     the caption alone (default), the spoken text under it, or beside it
//   ?tail=0|1                    of a sentence that is still being spoken only what stands (default), or the rest too, dimmed
//   ?lang=es                     the language; default: the server's target
//   ?size=100                    the type, in percent of its usual size (40 to 200)
//   ?lines=                      at most so many lines (1 to 12); default: what fits, and 3 in blocks
//   ?captions=3                  at most so many captions at a time (1 to 6); fewer where they do not fit
//   ?margin=6                    percent of the picture left free at each edge (0 to 20)
//   ?place=bottom|centre|top     where the captions stand
//   ?ground=dark|light           white on black (default), or black on white for bright rooms
//   ?clear=20                    seconds without speech after which the screen is cleared; 0 never clears it
//   ?states=0                    captions and nothing else: no word on how the service is

const query = new URLSearchParams(location.search);

/** The number of this name, or the default where there is none in the range. */
function number(name, fallback, least, most) {
  const value = Number.parseFloat(query.get(name));
  return value >= least && value <= most ? value : fallback;
}

/** The word of this name, or the first of those there are. */
function choice(name, ...words) {
  return words.includes(query.get(name)) ? query.get(name) : words[0];
}

const mode = choice("mode", "rollup", "blocks");
const show = choice("show", "target", "both", "beside");

export const settings = {
  blocks: mode === "blocks",
  show,
  // With the spoken text a caption stays in one piece: nobody knows which part of one belongs to which of the other.
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
