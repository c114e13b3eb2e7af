// What was said, as sound: for the operator only, and kept nowhere.

/** `onChange()` hears that it begins or ends. */
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

  /** Play what a path of the server gives to a token, in place of what plays; false where there is nothing. */
  async play(path, token) {
    // At the touch, before anything is awaited: else a phone keeps silent.
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
