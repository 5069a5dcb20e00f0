import { setTimeout as pause } from "node:timers/promises";
import type { Creation, HistoryEvent } from "../../history/history.ts";
import { type Json, member, type Reply, send } from "../../servers/client.ts";
import { AnsweredChanges, type AnswerLines, findUnrecorded } from "../changes.ts";
import type { Choices } from "../writer.ts";

/** Pause after a request without an answer, or with a 5xx (ms). */
export const RETRY_MS = 200;
/** Time limit of a request (ms). */
const ANSWER_MS = 60_000;
/** Most attempts of a request until it is answered, which take at least two minutes. */
const MAX_TRIES = 600;
/** Expected statuses. The revocation of an ended token, and a second login with one nonce, answer 400. */
const USUAL: readonly number[] = [200, 202, 204, 400, 403];

/** The known facts about a token before its creation. */
export type NewToken = Partial<Pick<Creation, "parent" | "groups" | "uses" | "batch" | "nonce">>;

/** The servers that receive the requests. */
export interface Servers {
  readonly urls: () => readonly string[];
  readonly rootToken: string;
  /** True when the gateway of a server may outlive its workerd for a moment, and answer 502. */
  readonly mayLackWorker: boolean;
}

/** A request with the token `by`: by default the root token, "" for no token. */
interface Request {
  readonly by?: string;
  readonly body?: Json;
  /** True when the answer waits by design, so its latency says nothing about a fault. */
  readonly waits?: boolean;
}

/** Sends requests to random servers, and records the history of requests and answers. */
export class Recorder {
  readonly history: HistoryEvent[] = [];
  readonly choices: Choices;
  /** Successful changes, to compare with the audit store. */
  readonly changes = new AnsweredChanges();
  /** Unexpected answers, with their numbers. */
  readonly surprises = new Map<string, number>();
  /** Longest time from a request to its answer (ms). */
  longestMs = 0;
  requests = 0;
  /** Requests without an answer, or with a 5xx. */
  unanswered = 0;
  readonly #servers: Servers;
  /** The texts of tokens by their names in the history. */
  readonly #texts = new Map<string, string>();
  /** The names of tokens by their accessors. */
  readonly #names = new Map<string, string>();

  constructor(servers: Servers, choices: Choices) {
    this.#servers = servers;
    this.choices = choices;
  }

  get tokens(): string[] {
    return [...this.#texts.keys()];
  }

  textOf(token: string): string {
    return this.#texts.get(token) ?? "";
  }

  /** The names of the tokens with these accessors. A token whose creation was not answered has no name. */
  named(accessors: readonly string[]): string[] {
    return accessors.flatMap((accessor) => this.#names.get(accessor) ?? []);
  }

  /** Creates a token. @returns its name; null without an answer, or when it was not created. */
  async make(path: string, request: Request, about: NewToken): Promise<string | null> {
    const begin = performance.now();
    const reply = await this.send("POST", path, request);
    // A request with the parent's token is a use of it, whatever the answer to the creation.
    if (about.parent) this.#noteUse(about.parent, begin, reply);
    const text = member(reply?.body, "auth", "client_token");
    if (reply?.status !== 200 || typeof text !== "string") return null;
    const token = `t${this.#texts.size}`;
    this.#texts.set(token, text);
    const accessor = member(reply.body, "auth", "accessor");
    if (typeof accessor === "string" && accessor !== "") this.#names.set(accessor, token);
    const rest = { parent: null, groups: [], uses: null, batch: false, nonce: null, ...about, expiresAt: null };
    this.history.push({ kind: "create", token, begin, end: performance.now(), ...rest });
    return token;
  }

  /** Looks a token up with itself. False without an answer. */
  async use(token: string): Promise<boolean> {
    const begin = performance.now();
    return this.#noteUse(token, begin, await this.send("GET", "v1/auth/token/lookup-self", { by: this.textOf(token) }));
  }

  #noteUse(token: string, begin: number, reply: Reply | null): boolean {
    const accepted = isAnswer(reply) ? reply.status !== 403 : null;
    this.history.push({ kind: "use", token, begin, end: accepted === null ? null : performance.now(), accepted });
    return accepted !== null;
  }

  /** Repeats a request until its answer is not a 5xx. Null when that takes minutes. */
  async sendUntilAnswered(method: string, path: string, request: Request = {}): Promise<Reply | null> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const reply = await this.send(method, path, request);
      if (isAnswer(reply)) return reply;
      await pause(RETRY_MS);
    }
    return null;
  }

  /** Sends a request to a random server. Null without an answer. */
  async send(method: string, path: string, { by, body, waits }: Request = {}): Promise<Reply | null> {
    const { rootToken, mayLackWorker } = this.#servers;
    const urls = this.#servers.urls();
    const url = urls[this.choices.below(urls.length)] ?? "";
    const begin = performance.now();
    const reply = await send({ url, token: by ?? rootToken }, method, path, body, { timeoutMs: ANSWER_MS }).catch(
      () => null,
    );
    if (reply) this.changes.note(method, path, reply);
    this.requests++;
    if (!waits) this.longestMs = Math.max(this.longestMs, performance.now() - begin);
    if (!isAnswer(reply)) this.unanswered++;
    if (reply !== null && !isUsual(reply, mayLackWorker)) {
      this.surprise(`${method} ${path}: answered ${reply.status} ${JSON.stringify(reply.body)}`);
    }
    return reply;
  }

  /**
   * Reads the audit store. An answered change without a record is recorded as a surprise. @param stream see
   * `AnsweredChanges`.
   */
  async checkRecords(stream?: AnswerLines): Promise<void> {
    const [first, ...others] = this.#servers.urls().map((url) => ({ url, token: this.#servers.rootToken }));
    if (!first) return;
    for (const line of await findUnrecorded([first, ...others], this.changes, stream)) this.surprise(line);
  }

  surprise(line: string): void {
    this.surprises.set(line, (this.surprises.get(line) ?? 0) + 1);
  }
}

function isUsual({ status, headers }: Reply, mayLackWorker: boolean): boolean {
  // A 503 must have a Retry-After header.
  if (status === 503) return "retry-after" in headers;
  return USUAL.includes(status) || (status === 502 && mayLackWorker);
}

/** False for a reply that says nothing about the effect of its request. */
export function isAnswer(reply: Reply | null): reply is Reply {
  return reply !== null && reply.status < 500;
}
