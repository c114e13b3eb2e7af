// The newest revision of each caption, in order. No DOM.

/** The text of a caption for a reader of `lang`: `{lang, text}`; "" means nothing to show. */
export function textFor({ source, target, verse, doubtful }, lang) {
  if (lang === source.lang) return source;
  // A mark in the text appears on every page and in the video overlay, and is read aloud.
  if (doubtful && !verse && target.text !== "") return { lang: target.lang, text: `${target.text} (?)` };
  // A printed verse replaces the machine's translation.
  return verse && target.text !== "" ? { lang: verse.lang, text: `${verse.text} — ${verse.ref} (${verse.edition})` } : target;
}

function inOrder(captions, lang) {
  return [...captions].filter((caption) => textFor(caption, lang).text !== "").sort((a, b) => a.id - b.id);
}

/** The newest `limit` captions of a session. */
export class Captions {
  #byId = new Map();
  #finals = new Map(); // The last final of each resumed caption, whose speaker has continued.
  #limit;

  constructor(limit) {
    this.#limit = limit;
  }

  /** Handle `hello`: the changes since the last connection, or all captions. */
  onHello(hello) {
    if (!hello.resumed) {
      this.#byId.clear();
      this.#finals.clear();
    }
    this.add(hello);
  }

  /** Handle `earlier`: the captions that a short `hello` left out. */
  add({ captions }) {
    for (const caption of captions) this.put(caption);
  }

  /** Handle `caption`. False if it is older than the known revision and changes nothing. */
  put(caption) {
    const known = this.#byId.get(caption.id);
    if (known && known.seq >= caption.seq) return false;
    if (caption.status !== "resumed") this.#finals.delete(caption.id);
    else if (known?.final) this.#finals.set(caption.id, known);
    this.#byId.set(caption.id, caption);
    // Hidden ones count too: a late older revision must not bring them back.
    while (this.#byId.size > this.#limit) {
      const oldest = Math.min(...this.#byId.keys());
      this.#byId.delete(oldest);
      this.#finals.delete(oldest);
    }
    return this.#byId.has(caption.id);
  }

  /** The newest known revision of caption `id`. */
  get(id) {
    return this.#byId.get(id);
  }

  /** The last final of caption `id` if it is resumed and its final is known. */
  finalOf(id) {
    return this.#finals.get(id);
  }

  /** The captions that have text for a reader of `lang`, oldest first. */
  visible(lang) {
    return inOrder(this.#byId.values(), lang);
  }

  /** The same for finals-only displays: a resumed caption keeps its last final until a new one. */
  standing(lang) {
    return inOrder([...this.#byId.values()].map((caption) => this.finalOf(caption.id) ?? caption), lang);
  }
}
