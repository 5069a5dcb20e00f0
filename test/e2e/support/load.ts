import { EventEmitter, once } from "node:events";
import { expect } from "vitest";
import { inGroups } from "../../../src/base/parallel.ts";
import { call, type RunningServer } from "./server.ts";

type Server = Pick<RunningServer, "address">;

/** A token as the client that made it knows it. Times (ms) are of the test's clock: `…At` when the answer was there. */
interface KnownToken {
  readonly token: string;
  readonly accessor: string;
  readonly parent: KnownToken | null;
  readonly madeAt: number;
  renewedAt: number;
  /** When its revocation, or that of its parent, was sent. */
  revocationSentAt: number;
  revokedAt: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const CLIENTS = 3;
/** Changes that clients make beyond those that were waited for: on a slow machine the test would otherwise grow. */
const AHEAD = 6;
const HOUR_S = 3600;

/** Clients that make, renew and revoke tokens while they are waited for, and know when each change was answered. */
export class Load {
  readonly #server: Server;
  readonly #root: string;
  readonly #known: KnownToken[] = [];
  readonly #answers = new EventEmitter();
  readonly #clients: Promise<void>[];
  #changes = 0;
  #allowed = AHEAD;
  #isStopped = false;

  constructor(server: Server, root: string) {
    this.#server = server;
    this.#root = root;
    this.#clients = Array.from({ length: CLIENTS }, (_, number) => this.#work(number));
  }

  /** Resolves when so many further changes were answered. */
  async changes(count: number): Promise<void> {
    const ended = Promise.all(this.#clients);
    const until = this.#changes + count;
    this.#allowed = until + AHEAD;
    this.#answers.emit("allowed");
    while (this.#changes < until) await Promise.race([once(this.#answers, "change"), ended]);
  }

  /** Stops the clients. Every change that was sent is then answered. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#answers.emit("allowed");
    await Promise.all(this.#clients);
  }

  /**
   * Expects of a server that was restored from a backup all that was answered before the backup began (ms), and each later change as a
   * whole or not at all.
   *
   * @returns accessors of the tokens that are valid there, and of those among them whose revocation was answered after the begin.
   */
  async expectRestored(server: Server, began: number): Promise<{ valid: string[]; returned: string[] }> {
    const valid = new Set<KnownToken>();
    await inGroups(this.#known, async (known) => {
      const { status, body } = await call(server, "GET", "/v1/auth/token/lookup-self", { token: known.token });
      if (known.revokedAt < began) expect(status).toBe(403);
      else if (known.madeAt < began && known.revocationSentAt === NEVER) expect(status).toBe(200);
      expect([200, 403]).toContain(status);
      if (status !== 200) return;
      valid.add(known);
      const { accessor, ttl } = body.data as { readonly accessor: string; readonly ttl: number };
      expect(accessor).toBe(known.accessor);
      if (known.renewedAt < began) expect(ttl).toBeGreaterThan(HOUR_S);
    });
    const refused = [...valid].flatMap(({ parent }) => (parent && !valid.has(parent) ? [parent.token] : []));
    expect(refused, "parents of valid tokens that are refused").toEqual([]);
    const accessorsOf = (of: readonly KnownToken[]): string[] => of.map(({ accessor }) => accessor);
    const returned = [...valid].filter(({ revokedAt }) => revokedAt !== NEVER);
    return { valid: accessorsOf([...valid]), returned: accessorsOf(returned) };
  }

  /** How many tokens were made, renewed and revoked before a time (ms), and how many of each from then on. */
  counts(time: number): Record<"made" | "renewed" | "revoked", readonly [before: number, later: number]> {
    const count = (timeOf: (known: KnownToken) => number) => {
      const times = this.#known.map(timeOf).filter((at) => at !== NEVER);
      const before = times.filter((at) => at < time).length;
      return [before, times.length - before] as const;
    };
    return {
      made: count(({ madeAt }) => madeAt),
      renewed: count(({ renewedAt }) => renewedAt),
      revoked: count(({ revokedAt }) => revokedAt),
    };
  }

  async #work(client: number): Promise<void> {
    const parents: KnownToken[] = [];
    for (let turn = 0; !this.#isStopped; turn++) {
      const isChosen = turn % 2 === 0;
      // A root token: it may make a child. A chosen id is known to an object of its own.
      const orphan = {
        no_parent: true,
        ttl: "1h",
        ...(isChosen && { id: `chosen-${client}-${turn}-${process.hrtime.bigint()}` }),
      };
      const parent = await this.#make(this.#root, null, orphan);
      parents.push(parent);
      const child = await this.#make(parent.token, parent, { ttl: "1h", policies: ["default"] });
      await this.#renew(turn % 3 === 0 ? child : parent);
      const old = turn % 2 === 0 ? parents[turn - 2] : undefined;
      await this.#revoke(old ?? child);
    }
  }

  async #make(by: string, parent: KnownToken | null, body: object): Promise<KnownToken> {
    const { auth } = await this.#change("create", by, body);
    const { client_token: token, accessor } = auth as { readonly client_token: string; readonly accessor: string };
    const known = {
      token,
      accessor,
      parent,
      madeAt: Date.now(),
      renewedAt: NEVER,
      revocationSentAt: NEVER,
      revokedAt: NEVER,
    };
    this.#known.push(known);
    return known;
  }

  async #renew(known: KnownToken): Promise<void> {
    await this.#change("renew-self", known.token, { increment: "5h" });
    known.renewedAt = Date.now();
  }

  async #revoke(known: KnownToken): Promise<void> {
    const ended = this.#known.filter((one) => one === known || one.parent === known);
    const sentAt = Date.now();
    for (const one of ended) one.revocationSentAt = Math.min(one.revocationSentAt, sentAt);
    await this.#change("revoke-self", known.token, {});
    const revokedAt = Date.now();
    for (const one of ended) one.revokedAt = Math.min(one.revokedAt, revokedAt);
  }

  async #change(what: string, token: string, body: object): Promise<Record<string, unknown>> {
    while (this.#changes >= this.#allowed && !this.#isStopped) await once(this.#answers, "allowed");
    const answer = await call(this.#server, "POST", `/v1/auth/token/${what}`, { token, body });
    expect([200, 204]).toContain(answer.status);
    this.#changes++;
    this.#answers.emit("change");
    return answer.body;
  }
}
