/** A request to both servers. `{name}` in strings stands for what each server answered earlier under that name. */
export interface Ask {
  readonly method: "GET" | "POST" | "DELETE" | "LIST" | "PATCH";
  /** Below `/v1/`. */
  readonly path: string;
  readonly body?: unknown;
  /** Of the caller; the root token when left out, none when "". */
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a server said. */
export interface Answer {
  readonly status: number;
  /** null without a body; a string that is no JSON as it is. */
  readonly body: unknown;
}

const TIMEOUT_MS = 30_000;

/** One of the two servers, with what it answered earlier. */
export class Server {
  readonly #url: string;
  readonly #token: string;
  readonly #known = new Map<string, string>();

  /** @param url origin, with or without a slash at the end. @param token a root token. */
  constructor(url: string, token: string) {
    this.#url = url.replace(/\/$/, "");
    this.#token = token;
  }

  remember(name: string, value: string): void {
    this.#known.set(name, value);
  }

  async ask({ method, path, body, token, headers }: Ask): Promise<Answer> {
    const url = new URL(`${this.#url}/v1/${this.#fill(path)}`);
    if (method === "LIST") url.searchParams.set("list", "true");
    const caller = token === undefined ? this.#token : this.#fill(token);
    const text = body === undefined ? undefined : this.#fill(JSON.stringify(body));
    const response = await fetch(url, {
      method: method === "LIST" ? "GET" : method,
      headers: {
        ...(caller !== "" && { "X-Vault-Token": caller }),
        ...(text !== undefined && {
          "Content-Type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
        }),
        ...headers,
      },
      ...(text !== undefined && { body: text }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.status, body: parse(await response.text()) };
  }

  #fill(text: string): string {
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => this.#known.get(name) ?? whole);
  }
}

function parse(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return text;
  }
}
