import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { importKeys, newKeyRing } from "../../../src/crypto/key-ring.ts";
import { NO_WATERMARKS } from "../../../src/system/watermarks.ts";
import { REVOKED, REVOKED_ALONE } from "../../../src/token/end-record.ts";
import { PLAIN_RECORD, type TokenRecord } from "../../../src/token/record.ts";
import { DeadTokens, deleteVictims } from "../../../src/tree/sweep/dead-tokens.ts";
import { TreeStore } from "../../../src/tree/tree-store.ts";
import { bindings } from "../../support/service.ts";

/** What a tree should be: every token knows whether it ended by itself, and liveness is looked up along the parents. */
interface ModelToken {
  parent: number | null;
  ended: boolean;
  expiresAt: number | null;
}

class Model {
  readonly tokens = new Map<number, ModelToken>();
  now = 1000;
  /** What rows are numbered by. Unlike `now` it can be set back. */
  clock = 100;

  alive(row: number | null): boolean {
    if (row === null) return true;
    const token = this.tokens.get(row);
    if (!token || token.ended || (token.expiresAt !== null && token.expiresAt <= this.now)) return false;
    return this.alive(token.parent);
  }

  /** When the first of a token and those above it ends; null: none does. */
  aliveUntil(row: number): number | null {
    const { parent = null, expiresAt = null } = this.tokens.get(row) ?? {};
    const above = parent === null ? null : this.aliveUntil(parent);
    return expiresAt === null || above === null ? (expiresAt ?? above) : Math.min(expiresAt, above);
  }

  revokeAlone(row: number): void {
    const token = this.tokens.get(row);
    if (token) token.ended = true;
    for (const child of this.tokens.values()) if (child.parent === row) child.parent = null;
  }
}

const ROW_KEYS = (await importKeys(newKeyRing(0))).rows;
const JUDGES = { rowKeys: () => ROW_KEYS, watermarks: () => NO_WATERMARKS };
const RECORD: TokenRecord = {
  ...PLAIN_RECORD,
  policies: [],
  displayName: "",
  path: "auth/token/create",
  createdAt: 0,
  creationTtl: 0,
};
const BYTES = new Uint8Array(24);

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("create" as const),
      at: fc.nat(),
      ttl: fc.option(fc.integer({ min: 1, max: 60 })),
      row: fc.nat(3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("clock" as const), by: fc.integer({ min: -40, max: 40 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("revoke" as const, "revokeAlone" as const), at: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("renew" as const), at: fc.nat(), ttl: fc.integer({ min: 1, max: 60 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 30 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("sweep" as const),
      limit: fc.integer({ min: 1, max: 8 }),
      pieces: fc.integer({ min: 1, max: 3 }),
      ends: fc.constantFrom("deleted" as const, "cutShort" as const, "putBack" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wake" as const) }) },
);

describe("a token tree, against a model that walks every parent every time", () => {
  it("keeps exactly the right tokens alive, in any order of events and over several uses, and ends with the living rows alone", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const stub = bindings.TOKEN_TREE.get(bindings.TOKEN_TREE.newUniqueId());
        await runInDurableObject(stub, (_, { storage: { sql } }) => {
          play(sql, steps);
        });
      }),
      { numRuns: 100 },
    );
  });
});

function play(sql: SqlStorage, steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]): void {
  const model = new Model();
  let store = new TreeStore(sql, "00".repeat(32), JUDGES);
  let dead = new DeadTokens(sql, "00".repeat(32));
  const pick = (at: number): number | null => {
    const living = [...model.tokens.keys()].filter((row) => model.alive(row));
    return living.length === 0 ? null : (living[at % living.length] ?? null);
  };
  const add = (row: number, parent: number | null, expiresAt: number | null) => {
    if (parent === null) store.begin();
    const ids = { row, token: "", verifier: BYTES, accessor: "", accessorTail: BYTES };
    if (!store.insert({ type: "service", record: RECORD, expiresAt, orphan: parent === null }, ids, parent)) return;
    if (model.tokens.has(row)) throw new Error(`row ${row} is used again`);
    model.tokens.set(row, { parent, ended: false, expiresAt });
  };
  add(model.clock, null, 1030);
  for (const each of steps) {
    const row = "at" in each ? pick(each.at) : null;
    if (each.do === "create") {
      model.clock++;
      // A tree that is empty begins again; one in which something waits for the sweep can't.
      if (row === null && !store.isEmpty) continue;
      add(model.clock + each.row, row, each.ttl === null ? null : model.now + each.ttl);
    } else if (each.do === "clock") model.clock = Math.max(1, model.clock + each.by);
    else if (each.do === "pass") model.now += each.ms;
    else if (each.do === "wake") {
      store = new TreeStore(sql, "00".repeat(32), JUDGES);
      store.liveness.refresh();
      dead = new DeadTokens(sql, "00".repeat(32));
    } else if (each.do === "sweep") {
      if (dead.isPlanning) dead.planOn(each.limit);
      const found = dead.isPlanning ? [] : (dead.next(model.now, each.limit) ?? []);
      for (let piece = 1; piece < each.pieces; piece++) found.push(...dead.more(model.now, each.limit));
      if (each.ends === "putBack") dead.putBack();
      // A crash can end it after any of them.
      const some = each.ends === "putBack" ? [] : found.slice(0, each.ends === "cutShort" ? each.limit - 1 : Infinity);
      const rows = deleteVictims(sql, some).map((victim) => victim.row);
      if (rows.length > 0) store.deleted(rows, model.now, true);
      store.liveness.refresh();
    } else if (row !== null && each.do === "revoke") {
      store.revoke(row, REVOKED);
      const token = model.tokens.get(row);
      if (token) token.ended = true;
    } else if (row !== null && each.do === "revokeAlone") {
      store.revoke(row, REVOKED_ALONE);
      model.revokeAlone(row);
    } else if (row !== null && each.do === "renew") {
      const token = model.tokens.get(row);
      if (token?.expiresAt != null) {
        token.expiresAt = model.now + each.ttl;
        store.renew(row, each.ttl, token.expiresAt, model.now);
      }
    }
    compare(store, model);
  }
  for (let round = 0; round < 1000; round++) {
    while (dead.isPlanning) dead.planOn(3);
    const victims = dead.next(model.now, 3);
    if (victims === null) break;
    deleteVictims(sql, victims);
  }
  store.liveness.refresh();
  compare(store, model);
  const rows = sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM tokens").one().n;
  expect(rows).toBe([...model.tokens.keys()].filter((row) => model.alive(row)).length);
}

function compare(store: TreeStore, model: Model): void {
  for (const [row, token] of model.tokens) {
    const found = store.live(row, model.now);
    if ((found !== null) !== model.alive(row)) throw new Error(`token ${row} should be ${found ? "dead" : "alive"}`);
    if (found && (store.liveness.parentOf(found, model.now) === null) !== (token.parent === null)) {
      throw new Error(`token ${row} should ${token.parent === null ? "" : "not "}be an orphan`);
    }
    const [until, ends] = [found ? store.liveness.aliveUntil(found, model.now) : null, model.aliveUntil(row)];
    // It may be asked for too early, and never too late.
    if (found && ends !== null && (until === null || until > ends)) throw new Error(`token ${row} ends at ${ends}`);
  }
}
