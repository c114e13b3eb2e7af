// What has been said so far: the newest revision of each caption, in order. No document in here.

/** What of a caption a reader of `lang` reads: `{lang, text}`. Without text there is nothing to show. */
export function textFor({ source, target, verse, doubtful }, lang) {
  if (lang === source.lang) return source;
  // A sign in the text is there on every page, in the video overlay, and when it is read aloud.
  if (doubtful && !verse && target.text !== "") return { lang: target.lang, text: `${target.text} (?)` };
  // A printed verse stands for the machine's translation of it.
  return verse && target.text !== "" ? { lang: verse.lang, text: `${verse.text} — ${verse.ref} (${verse.edition})` } : target;
}

function inOrder(captions, lang) {
  return [...captions].filter((caption) => textFor(caption, lang).text !== "").sort((a, b) => a.id - b.id);
}

/** The newest `limit` captions of a session. */
export class Captions {
  #byId = new Map();
  #finals = new Map(); // Of those that are resumed, because their speaker has gone on: the last final.
  #limit;

  constructor(limit) {
    this.#limit = limit;
  }

  /** Take a `hello`: what changed since we left, or all there is. */
  onHello(hello) {
    if (!hello.resumed) {
      this.#byId.clear();
      this.#finals.clear();
    }
    this.add(hello);
  }

  /** Take an `earlier`: what a short `hello` left out. */
  add({ captions }) {
    for (const caption of captions) this.put(caption);
  }

  /** Take a `caption`. False if it is older than what we have, so that nothing changed. */
  put(caption) {
    const known = this.#byId.get(caption.id);
    if (known && known.seq >= caption.seq) return false;
    if (caption.status !== "resumed") this.#finals.delete(caption.id);
    else if (known?.final) this.#finals.set(caption.id, known);
    this.#byId.set(caption.id, caption);
    // Hidden ones count too: an older revision that comes late must not bring them back.
    while (this.#byId.size > this.#limit) {
      const oldest = Math.min(...this.#byId.keys());
      this.#byId.delete(oldest);
      this.#finals.delete(oldest);
    }
    return this.#byId.has(caption.id);
  }

  /** The newest revision of caption `id` that we have. */
  get(id) {
    return this.#byId.get(id);
  }

  /** The last final version of caption `id` if it is resumed and we have seen that. */
  finalOf(id) {
    return this.#finals.get(id);
  }

  /** The captions that have something to show to a reader of `lang`, oldest first. */
  visible(lang) {
    return inOrder(this.#byId.values(), lang);
  }

  /** The same for who shows finals only: a caption that is resumed stands as it was until it is final again. */
  standing(lang) {
    return inOrder([...this.#byId.values()].map((caption) => this.finalOf(caption.id) ?? caption), lang);
  }
}
