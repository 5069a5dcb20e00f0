import { type Client, type Json, type SendOptions, send, text } from "../servers/client.ts";
import type { Environment } from "./environment.ts";
import { type Entry, expectedOf, type Kind, type Ledger } from "./ledger.ts";

/** Writers choose from this many newest entries of a kind. */
const NEWEST = 20;
/** Statuses that count as no answer, because the server is down. */
const NO_ANSWERS = new Set([502, 503, 504]);

/** Thrown when a request has no answer. The writer then stops until the next round. */
export class NoAnswer extends Error {}

/** The tokens that one writer keeps for the whole run. */
export interface WriterTokens {
  /** The parent of new tokens. Its cubbyhole stores a number. */
  readonly maker: Entry;
  /** A token with limited uses (a secret). */
  readonly counted: string;
  /** The token that is renewed repeatedly (a secret). */
  readonly renewed: string;
}

interface RequestOptions extends SendOptions {
  /** Default: the root token. */
  readonly token?: string;
}

/** One operation of a writer. Throws NoAnswer. */
export type Action = (writer: Writer) => Promise<void>;

/** Builds an action that ends one of the newest living entries of a kind, if there is one. */
export function ending(
  kind: Kind,
  ask: (writer: Writer, entry: Entry) => Promise<Json>,
  how: { readonly alone?: boolean } = {},
): Action {
  return async (writer) => {
    const entry = writer.pick(kind);
    if (entry) await writer.end([entry], () => ask(writer, entry), how);
  };
}

/** Sends writes, and records requests and answers in the ledger. */
export class Writer {
  readonly name: string;
  readonly kept: WriterTokens;
  readonly environment: Environment;
  readonly choices: Choices;
  /** The current token role, whose tokens are revoked together. Null: a new role is necessary. */
  role: string | null = null;
  /** Tokens whose leases were revoked by prefix. They get no new leases: the revocation may or may not include them. */
  readonly prefixRevoked = new Set<Entry>();
  readonly #root: Client;
  readonly #ledger: Ledger;
  readonly #own = new Map<Kind, Entry[]>();

  constructor(
    name: string,
    given: { root: Client; kept: WriterTokens; environment: Environment; ledger: Ledger; choices: Choices },
  ) {
    this.name = name;
    this.kept = given.kept;
    this.environment = given.environment;
    this.choices = given.choices;
    this.#root = given.root;
    this.#ledger = given.ledger;
  }

  /** Runs random actions until a request has no answer or `stopped` returns true. */
  async write(actions: readonly [Action, ...Action[]], stopped: () => boolean): Promise<void> {
    try {
      while (!stopped()) await this.choices.pick(actions)(this);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
  }

  /** Sends a request. Throws NoAnswer unless it succeeds, and records an unexpected status in the ledger. */
  async ask(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Json> {
    const client = { url: this.#root.url, token: options.token ?? this.#root.token };
    // A kill of the server breaks the connection.
    const reply = await send(client, method, path, body, options).catch(() => null);
    if (reply) this.#ledger.changes.note(method, path, reply);
    if (reply && reply.status < 300) return reply.body;
    if (reply && !NO_ANSWERS.has(reply.status)) {
      this.#ledger.surprises.push(`${method} ${path}: answered ${reply.status} ${JSON.stringify(reply.body)}`);
    }
    throw new NoAnswer();
  }

  /** Records an answered creation. */
  made(kind: Kind, id: string, parent: Entry | null, accessor = ""): Entry {
    const entry = this.#ledger.created(kind, id, parent, accessor);
    this.#own.set(kind, [...(this.#own.get(kind) ?? []), entry]);
    return entry;
  }

  /** Records the token in the answer to its creation. */
  madeToken(kind: Kind, answer: Json, parent: Entry | null): Entry {
    return this.made(kind, text(answer, "auth", "client_token"), parent, text(answer, "auth", "accessor"));
  }

  /** A new, random name. */
  newName(): string {
    return `${this.name}-${this.choices.below(2 ** 32).toString(36)}`;
  }

  /** Ends entries with one request. The answer means that they have ended; with `promised`, that they will end. */
  async end(
    entries: readonly Entry[],
    ask: () => Promise<Json>,
    how: { readonly alone?: boolean; readonly promised?: boolean } = {},
  ): Promise<Json> {
    for (const entry of entries) {
      entry.ending = how.promised ? "sent in background" : "sent";
      entry.alone = how.alone ?? false;
    }
    const answer = await ask();
    for (const entry of entries) entry.ending = how.promised ? "promised" : "answered";
    return answer;
  }

  /** Increments a number of this writer and writes it with `ask`. */
  async count(what: string, ask: (next: number) => Promise<Json>): Promise<void> {
    const number = this.#ledger.number(`${this.name} ${what}`);
    const next = number.sent + 1;
    number.sent = next;
    await ask(next);
    number.answered = next;
  }

  /** One of the newest living entries of a kind that this writer made. */
  pick(kind: Kind): Entry | undefined {
    const alive = this.living(kind).slice(-NEWEST);
    return alive[this.choices.below(alive.length)];
  }

  /** All living entries of a kind that this writer made. */
  living(kind: Kind): Entry[] {
    const left = (this.#own.get(kind) ?? []).filter((entry) => expectedOf(entry) !== "dead");
    this.#own.set(kind, left);
    return left.filter((entry) => expectedOf(entry) === "alive");
  }
}

/** A seeded pseudorandom generator. Not for secrets. */
export class Choices {
  #state = 0x811c9dc5;

  constructor(seed: string) {
    for (let i = 0; i < seed.length; i++) this.#state = Math.imul(this.#state ^ seed.charCodeAt(i), 0x01000193);
  }

  /** A random integer from 0 up to, but not including, `end` (mulberry32). */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  pick<const T extends readonly [unknown, ...unknown[]]>(items: T): T[number] {
    return items[this.below(items.length)];
  }
}
