// A socket to the server. It may be opened before it has a listener (js/audience/preconnect.js).

const EVENTS = ["open", "message", "close"];

function dial(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "");
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return { webSocket: new WebSocket(`${scheme}://${location.host}/ws?${new URLSearchParams(given)}`), events: [] };
}

/** A socket to `/ws` with the non-empty parameters, or an open `{webSocket, events}`. */
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

  /** Send events to the handlers `open`, `message` and `close`, the earlier events first. */
  listen(handlers) {
    for (const name of EVENTS) this.#webSocket[`on${name}`] = handlers[name];
    // Asynchronously, like every event: the caller is not ready yet.
    queueMicrotask(() => {
      for (const event of this.#events) handlers[event.type](event);
    });
  }
}
