import { type Client, type Json, type SendOptions, send, text } from "../servers/client.ts";
import type { Choices } from "./choices.ts";
import type { Environment } from "./environment.ts";
import { type Entry, expectedOf, type Kind, type Ledger } from "./ledger.ts";

/** A writer uses the newest entries of each kind. */
const NEWEST = 20;
/** Statuses that promise nothing: the server, or a proxy before it, is not there. */
const NO_ANSWERS = new Set([502, 503, 504]);

/** Thrown where a request had no answer: then the writer waits for the next start. */
export class NoAnswer extends Error {}

/** Tokens that one writer keeps for the whole run. */
export interface Kept {
  /** Holds the cubbyhole and makes children. */
  readonly maker: Entry;
  readonly counted: string;
  readonly renewed: string;
}

/** Who sends a request, and how, when it is not root without further headers. */
interface RequestOptions extends SendOptions {
  readonly token?: string;
}

/** One thing that a writer does. Throws NoAnswer. */
export type Action = (writer: Writer) => Promise<void>;

/** Ends one of the newest things of a kind, where there is one. */
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

/** Writes, and notes in the ledger what is sent and what is answered. */
export class Writer {
  readonly name: string;
  readonly kept: Kept;
  readonly environment: Environment;
  readonly choices: Choices;
  /** The token role whose tokens are revoked together; null until the next one is written. */
  role: string | null = null;
  /** Tokens whose leases were revoked by prefix: whether a walk under way meets a new lease is open. */
  readonly walked = new Set<Entry>();
  readonly #root: Client;
  readonly #ledger: Ledger;
  readonly #own = new Map<Kind, Entry[]>();

  constructor(
    name: string,
    given: { root: Client; kept: Kept; environment: Environment; ledger: Ledger; choices: Choices },
  ) {
    this.name = name;
    this.kept = given.kept;
    this.environment = given.environment;
    this.choices = given.choices;
    this.#root = given.root;
    this.#ledger = given.ledger;
  }

  /** Runs random actions until one is not answered or `stopped` is true. */
  async write(actions: readonly [Action, ...Action[]], stopped: () => boolean): Promise<void> {
    try {
      while (!stopped()) await this.choices.pick(actions)(this);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
  }

  /** Sends a request, as root unless `options` says otherwise. Throws NoAnswer when none came, or one that promises nothing. */
  async ask(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Json> {
    const client = { url: this.#root.url, token: options.token ?? this.#root.token };
    // The connection ends with the server.
    const reply = await send(client, method, path, body, options).catch(() => null);
    if (reply && reply.status < 300) return reply.body;
    if (reply && !NO_ANSWERS.has(reply.status)) {
      this.#ledger.surprises.push(`${method} ${path}: answered ${reply.status} ${JSON.stringify(reply.body)}`);
    }
    throw new NoAnswer();
  }

  /** Notes what was made. */
  made(kind: Kind, id: string, parent: Entry | null, accessor = ""): Entry {
    const entry = this.#ledger.created(kind, id, parent, accessor);
    this.#own.set(kind, [...(this.#own.get(kind) ?? []), entry]);
    return entry;
  }

  /** Notes the token that an answer has. */
  madeToken(kind: Kind, answer: Json, parent: Entry | null): Entry {
    return this.made(kind, text(answer, "auth", "client_token"), parent, text(answer, "auth", "accessor"));
  }

  /** A name that nothing has yet. */
  newName(): string {
    return `${this.name}-${this.choices.below(2 ** 32).toString(36)}`;
  }

  /** Ends `entries` by one request. Its answer says that they have ended, or will (`promised`). */
  async end(
    entries: readonly Entry[],
    ask: () => Promise<Json>,
    how: { readonly alone?: boolean; readonly promised?: boolean } = {},
  ): Promise<Json> {
    for (const entry of entries) {
      entry.ending = how.promised ? "adrift" : "sent";
      entry.alone = how.alone ?? false;
    }
    const answer = await ask();
    for (const entry of entries) entry.ending = how.promised ? "promised" : "answered";
    return answer;
  }

  /** Counts a number up. */
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

  /** All of them. */
  living(kind: Kind): Entry[] {
    const left = (this.#own.get(kind) ?? []).filter((entry) => expectedOf(entry) !== "dead");
    this.#own.set(kind, left);
    return left.filter((entry) => expectedOf(entry) === "alive");
  }
}
