import { type Client, type Json, send } from "./client.ts";
import type { FakeEnvironment } from "./fake-environment.ts";
import { type Entry, expectedOf, type Kind, type Ledger } from "./ledger.ts";

/** A writer goes on working with the newest entries of each kind. */
const NEWEST = 20;
/** What an answer says that promises nothing: the server, or something on the way to it, is not there. */
const NO_ANSWERS = new Set([502, 503, 504]);

/** Tokens that one writer keeps for the whole run. */
export interface Kept {
  /** Holds the cubbyhole and makes children. */
  readonly maker: Entry;
  readonly counted: string;
  readonly renewed: string;
}

/** Who sends a request, and how, when it is not root without further headers. */
export interface RequestOptions {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One thing that a writer does. False when it had no answer: then the writer waits for the next start. */
export type Action = (writer: WriterClient) => Promise<boolean>;

/** What one writer writes with: it notes in the ledger what is sent and what is answered. */
export class WriterClient {
  readonly name: string;
  readonly kept: Kept;
  readonly environment: FakeEnvironment;
  readonly random: () => number;
  /** The token role whose tokens are revoked together; null until the next one is written. */
  role: string | null = null;
  /** Tokens whose leases were revoked by prefix: a new lease may or may not be met by a walk that still goes on. */
  readonly walked = new Set<Entry>();
  readonly #root: Client;
  readonly #ledger: Ledger;
  readonly #own = new Map<Kind, Entry[]>();

  constructor(
    name: string,
    given: { root: Client; kept: Kept; environment: FakeEnvironment; ledger: Ledger; random: () => number },
  ) {
    this.name = name;
    this.kept = given.kept;
    this.environment = given.environment;
    this.random = given.random;
    this.#root = given.root;
    this.#ledger = given.ledger;
  }

  /** Sends a request, as root unless `options` says otherwise. Null when no answer came, or one that promises nothing. */
  async ask(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Json | null> {
    try {
      const client = { place: this.#root.place, token: options.token ?? this.#root.token };
      const { status, body: answer } = await send(client, method, path, body, options.headers);
      if (status < 300) return answer;
      if (!NO_ANSWERS.has(status))
        this.#ledger.surprises.push(`${method} ${path}: answered ${JSON.stringify([status, answer.errors])}`);
    } catch {
      // The connection ended with the server.
    }
    return null;
  }

  /** Notes what was made. */
  made(kind: Kind, id: string, parent: Entry | null, accessor = ""): Entry {
    const entry = this.#ledger.created(kind, id, parent, accessor);
    this.#own.set(kind, [...(this.#own.get(kind) ?? []), entry]);
    return entry;
  }

  /** A name that nothing has yet. */
  newName(): string {
    return `${this.name}-${Math.floor(this.random() * 2 ** 32).toString(36)}`;
  }

  /** Ends `entries` by one request. Its answer says that they have ended, or will (`promised`). */
  async end(
    entries: readonly Entry[],
    ask: () => Promise<Json | null>,
    how: { readonly alone?: boolean; readonly promised?: boolean } = {},
  ): Promise<boolean> {
    for (const entry of entries) {
      entry.ending = how.promised ? "adrift" : "sent";
      entry.alone = how.alone ?? false;
    }
    if (!(await ask())) return false;
    for (const entry of entries) entry.ending = how.promised ? "promised" : "answered";
    return true;
  }

  /** Counts a number up. */
  async count(what: string, ask: (next: number) => Promise<Json | null>): Promise<boolean> {
    const number = this.#ledger.number(`${this.name} ${what}`);
    const next = number.sent + 1;
    number.sent = next;
    if (!(await ask(next))) return false;
    number.answered = next;
    return true;
  }

  /** One of the newest living entries of a kind that this writer made. */
  pick(kind: Kind): Entry | undefined {
    const alive = this.living(kind).slice(-NEWEST);
    return alive[Math.floor(this.random() * alive.length)];
  }

  /** All of them. */
  living(kind: Kind): Entry[] {
    const left = (this.#own.get(kind) ?? []).filter((entry) => expectedOf(entry) !== "dead");
    this.#own.set(kind, left);
    return left.filter((entry) => expectedOf(entry) === "alive");
  }
}
