// The review's sign-in and socket. The token goes into a header once; an HttpOnly cookie follows.

const FIRST_MS = 500;
const LONGEST_MS = 10_000;

/**
 * Ask for access: "in", "needed" (a token), "wrong", "wait" (too many wrong tokens),
 * "none" (this is no review) or "away" (no answer).
 */
export async function enter(token = "") {
  try {
    const headers = token ? { Authorization: `Bearer ${encodeURIComponent(token)}` } : {};
    const answer = await fetch("/review/enter", { headers, cache: "no-store" });
    if (answer.status === 404) return "none";
    if (answer.status === 429) return "wait";
    if (!answer.ok) return "wrong";
    return (await answer.json()).known ? "in" : "needed";
  } catch {
    return "away";
  }
}

/** The socket after sign-in. It reconnects; `onOut` is called if the token is needed again. */
export class ReviewConnection {
  #socket = null;
  #wait = FIRST_MS;
  #onMessage;
  #onLost;
  #onOut;

  constructor({ onMessage, onLost, onOut }) {
    this.#onMessage = onMessage;
    this.#onLost = onLost;
    this.#onOut = onOut;
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/review/socket`);
    this.#socket = socket;
    socket.addEventListener("message", (event) => {
      this.#wait = FIRST_MS;
      this.#onMessage(JSON.parse(event.data));
    });
    socket.addEventListener("close", () => {
      this.#onLost();
      this.#later();
    });
  }

  /** Send a message; return whether the socket was open. */
  send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  #later() {
    setTimeout(async () => {
      const how = await enter();
      if (how === "in") this.open();
      else if (how === "needed") this.#onOut();
      else this.#later();
    // Random, so that pages do not all reconnect at the same moment after a restart of the server.
    }, this.#wait * (0.75 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_MS);
  }
}
