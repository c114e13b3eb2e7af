// Requests past services from the server. The token goes in a header, never in an address or a log.

import { forgetToken, keepToken, loadToken } from "./operator_token.js";

const PLACE = "/past";

/** The reason of a refusal: `needed` or `wrong` (the token), else the server's message. */
export class Refused extends Error {
  constructor(why, message) {
    super(message);
    this.why = why;
  }
}

export class Archive {
  #token = loadToken();

  /** Use another token from the next request on. */
  use(token) {
    this.#token = token;
  }

  /** The services, and the formats for download. */
  async list() {
    const answer = await this.#ask("");
    if (this.#token) keepToken(this.#token); // The token was right.
    return answer.json();
  }

  /** A service's texts; `lang` is a caption language, "" for the first. */
  async read(name, lang = "") {
    return (await this.#ask(`/${encodeURIComponent(name)}?lang=${lang}`)).json();
  }

  /** A service as a file: its bytes and its name. */
  async file(name, which, format, lang) {
    const answer = await this.#ask(`/${encodeURIComponent(name)}/${which}.${format}?lang=${lang}`);
    const named = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "");
    return { bytes: await answer.blob(), name: named?.[1] ?? `${name}.${format}` };
  }

  /** The page of all services, as text. */
  async dashboard() {
    const answer = await this.#ask("/dashboard.html");
    keepToken(this.#token);
    return answer.text();
  }

  async #ask(path) {
    const headers = this.#token ? { Authorization: `Bearer ${encodeURIComponent(this.#token)}` } : {};
    let answer;
    try {
      answer = await fetch(PLACE + path, { headers });
    } catch {
      throw new Refused("away", "The program does not answer. Is it still running?");
    }
    if (answer.ok) return answer;
    const said = (await answer.text()).trim();
    if (answer.status === 401) throw new Refused("needed", "");
    if (answer.status === 403) {
      forgetToken();
      this.#token = "";
      throw new Refused("wrong", said);
    }
    throw new Refused("no", said);
  }
}
