// One socket to the server, which can be opened before there is anyone to listen to it.

const EVENTS = ["open", "message", "close"];

/** A socket to `/ws` with these parameters; empty ones are left out. */
export class Line {
  #early = [];

  constructor(parameters) {
    const given = Object.entries(parameters).filter(([, value]) => value !== "");
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/ws?${new URLSearchParams(given)}`);
    for (const name of EVENTS) this.socket[`on${name}`] = (event) => this.#early.push(event);
  }

  /** From now on give each event to the handler of its name (`open`, `message`, `close`), first those that came before. */
  listen(handlers) {
    for (const name of EVENTS) this.socket[`on${name}`] = handlers[name];
    // Not at once, as no event ever comes: who calls us is not ready yet.
    queueMicrotask(() => {
      for (const event of this.#early) handlers[event.type](event);
    });
  }
}
