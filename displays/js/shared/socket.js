// One socket to the server, which may have been opened before there was anyone to listen to it (js/audience/preconnect.js).

const EVENTS = ["open", "message", "close"];

function dial(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "");
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return { webSocket: new WebSocket(`${scheme}://${location.host}/ws?${new URLSearchParams(given)}`), events: [] };
}

/** A socket to `/ws` with these parameters, empty ones left out; or an open `{webSocket, events}`, with what it has heard. */
export class Socket {
  #webSocket;
  #events;

  constructor(parameters, open = null) {
    const { webSocket, events } = open ?? dial(parameters);
    this.#webSocket = webSocket;
    this.#events = events;
  }

  get isOpen() {
    return this.#webSocket.readyState === WebSocket.OPEN;
  }

  send(text) {
    this.#webSocket.send(text);
  }

  close() {
    this.#webSocket.close();
  }

  /** From now on give each event to the handler of its name (`open`, `message`, `close`), first those that came before. */
  listen(handlers) {
    for (const name of EVENTS) this.#webSocket[`on${name}`] = handlers[name];
    // Not at once, as no event ever comes: who calls us is not ready yet.
    queueMicrotask(() => {
      for (const event of this.#events) handlers[event.type](event);
    });
  }
}
