import { setTimeout as pause } from "node:timers/promises";
import type { HistoryEvent } from "../../history/history.ts";
import { type Json, member, type Reply, send } from "../../servers/client.ts";
import type { Choices } from "../writer.ts";

/** Clients that work at the same time. */
const CLIENTS = 8;
/** Between two requests of a client (ms). */
const PAUSE_MS = 20;
/** After a request without an answer, or a 5xx (ms). */
const RETRY_MS = 200;
/** Time limit of a request (ms). */
const ANSWER_MS = 60_000;
/** A client works with this many of its newest tokens. */
const NEWEST = 12;

/** Clients that send requests to all nodes, and the history of what they asked and got. */
export class Clients {
  readonly history: HistoryEvent[] = [];
  /** Answers with a status that no request should get, and how often. */
  readonly surprises = new Map<string, number>();
  /** Longest time from a request to its answer (ms). */
  longestMs = 0;
  requests = 0;
  /** Requests without an answer, or with 503. */
  unanswered = 0;
  readonly #urls: () => readonly string[];
  readonly #root: string;
  readonly #choices: Choices;
  /** The texts of tokens by their names in the history. */
  readonly #texts = new Map<string, string>();
  /** Tokens with limited uses. They get no children, which would end with the last use. */
  readonly #limited = new Set<string>();
  #stopped = false;

  constructor(urls: () => readonly string[], root: string, choices: Choices) {
    this.#urls = urls;
    this.#root = root;
    this.#choices = choices;
  }

  /** Sends requests until `stop`. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, () => this.#client()));
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Uses every token once more, at a random node each, and again until it is answered. */
  async useAll(): Promise<void> {
    const names = [...this.#texts.keys()];
    const next = async (): Promise<void> => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        while (!(await this.#use(name))) await pause(RETRY_MS);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, next));
  }

  async #client(): Promise<void> {
    const own: string[] = [];
    while (!this.#stopped) {
      const recent = own.slice(-NEWEST);
      const token = recent[this.#choices.below(Math.max(1, recent.length))];
      const choice = this.#choices.below(10);
      let isAnswered = true;
      if (token === undefined || choice < 2) {
        const made = await this.#create(choice === 0 || this.#limited.has(token ?? "") ? undefined : token);
        if (made !== null) own.push(made);
        isAnswered = made !== null;
      } else if (choice < 3) isAnswered = await this.#revoke(token);
      else isAnswered = await this.#use(token);
      await pause(isAnswered ? PAUSE_MS : RETRY_MS);
    }
  }

  /** Makes a child of `parent`, or an orphan. Null without an answer. */
  async #create(parent: string | undefined): Promise<string | null> {
    const uses = this.#choices.below(4) === 0 ? 1 + this.#choices.below(3) : null;
    const fields = { ttl: "24h", policies: ["root"], ...(uses !== null && { num_uses: uses }) };
    const creator = parent === undefined ? this.#root : (this.#texts.get(parent) ?? "");
    const begin = performance.now();
    const path = `v1/auth/token/${parent === undefined ? "create-orphan" : "create"}`;
    const reply = await this.#send(creator, "POST", path, fields);
    // A request of the parent is a use of it, whatever it asks.
    if (parent !== undefined) this.#noteUse(parent, begin, reply);
    const text = member(reply?.body, "auth", "client_token");
    if (reply?.status !== 200 || typeof text !== "string") return null;
    const token = `t${this.#texts.size}`;
    this.#texts.set(token, text);
    if (uses !== null) this.#limited.add(token);
    const end = performance.now();
    const about = { parent: parent ?? null, groups: [], uses, expiresAt: null, nonce: null };
    this.history.push({ kind: "create", token, begin, end, ...about });
    return token;
  }

  /** Revokes a token by the root token: with what is below it, or alone. False without an answer. */
  async #revoke(token: string): Promise<boolean> {
    const alone = this.#choices.below(3) === 0;
    const begin = performance.now();
    const path = `v1/auth/token/${alone ? "revoke-orphan" : "revoke"}`;
    const reply = await this.#send(this.#root, "POST", path, { token: this.#texts.get(token) });
    const isDone = reply?.status === 204;
    this.history.push({ kind: "revoke", token, alone, begin, end: isDone ? performance.now() : null });
    return reply !== null && reply.status < 500;
  }

  /** Looks a token up with itself. False without an answer. */
  async #use(token: string): Promise<boolean> {
    const begin = performance.now();
    const reply = await this.#send(this.#texts.get(token) ?? "", "GET", "v1/auth/token/lookup-self");
    return this.#noteUse(token, begin, reply);
  }

  #noteUse(token: string, begin: number, reply: Reply | null): boolean {
    const accepted = reply === null || reply.status >= 500 ? null : reply.status !== 403;
    this.history.push({ kind: "use", token, begin, end: accepted === null ? null : performance.now(), accepted });
    return accepted !== null;
  }

  /** Sends a request to a random node. Null without an answer. */
  async #send(token: string, method: string, path: string, body?: Json): Promise<Reply | null> {
    const urls = this.#urls();
    const url = urls[this.#choices.below(urls.length)] ?? "";
    const begin = performance.now();
    const reply = await send({ url, token }, method, path, body, { timeoutMs: ANSWER_MS }).catch(() => null);
    this.requests++;
    this.longestMs = Math.max(this.longestMs, performance.now() - begin);
    if (reply === null || reply.status === 503) this.unanswered++;
    // A revocation of a token that is gone is a 400; a 503 has to say when to come again.
    const isUsual = reply === null || [200, 204, 400, 403].includes(reply.status);
    if (!isUsual && !(reply.status === 503 && "retry-after" in reply.headers)) {
      const line = `${method} ${path}: answered ${reply.status} ${JSON.stringify(reply.body)}`;
      this.surprises.set(line, (this.surprises.get(line) ?? 0) + 1);
    }
    return reply;
  }
}
