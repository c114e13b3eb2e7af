// The audio of an utterance: for the operator only, and never stored.

/** `onChange()` is called when it starts or ends. */
export class Sound {
  #context = null;
  #source = null;
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  get isPlaying() {
    return this.#source !== null;
  }

  /** Fetch a path with the token and play it instead of the current sound; false if it fails. */
  async play(path, token) {
    // Create it at the touch, before any await: otherwise a phone stays silent.
    this.#context ??= new AudioContext();
    this.#context.resume();
    const answer = await fetch(path, { headers: { Authorization: `Bearer ${encodeURIComponent(token)}` } }).catch(() => null);
    if (!answer?.ok) return false;
    const buffer = await this.#context.decodeAudioData(await answer.arrayBuffer());
    this.stop();
    const source = new AudioBufferSourceNode(this.#context, { buffer });
    source.connect(this.#context.destination);
    source.addEventListener("ended", () => this.#source === source && this.stop());
    this.#source = source;
    source.start();
    this.#onChange();
    return true;
  }

  stop() {
    const source = this.#source;
    this.#source = null;
    source?.stop();
    this.#onChange();
  }
}
