import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CLUSTER, NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { firstRowAt } from "../../../src/token/ids.ts";
import {
  CHECK_LISTED_MS,
  dueAt,
  floorAfter,
  type Life,
  NEW_TREE,
  next,
  type TreeEvent,
} from "../../../src/tree/lifecycle.ts";
import { type Operation, runHistory } from "./support/tree-world.ts";

const NOW = Date.UTC(2026, 5, 1);
const IDLE = { sweepAt: null, hasDead: false, leaseAt: null, sweptByCaller: false };

function lifeAfter(...events: readonly TreeEvent[]): Life {
  return events.reduce(next, NEW_TREE);
}

const CREATED: TreeEvent = { kind: "created", inLedger: true, now: NOW };
const CREATED_ALONE: TreeEvent = { kind: "created", inLedger: false, now: NOW };
const CHILD: TreeEvent = { kind: "child", now: NOW + 1 };
const listed = { confirmed: true, isOnItsWay: false, isMore: false };

describe("the alarm of a tree", () => {
  const expiry = NOW + 60_000;

  it("is not set for a single token that a shard knows, until nothing has asked for it for a day", () => {
    const life = lifeAfter(CREATED);
    expect(dueAt(life, { ...IDLE, sweepAt: expiry }, NOW)).toBe(null);
    expect(dueAt(life, { ...IDLE, sweepAt: expiry }, expiry + 86_399_999)).toBe(null);
    expect(dueAt(life, { ...IDLE, sweepAt: expiry }, expiry + 86_400_000)).toBe(expiry);
    expect(dueAt(life, { ...IDLE, sweepAt: NOW, hasDead: true }, NOW)).toBe(NOW);
    expect(dueAt(life, { ...IDLE, sweepAt: expiry, leaseAt: expiry + 1 }, NOW)).toBe(expiry);
  });

  it("checks after five seconds that the shards list what no shard knows, and is set for the earliest expiry then", () => {
    for (const life of [lifeAfter(CREATED_ALONE), lifeAfter(CREATED, { ...CHILD, now: NOW })]) {
      expect(dueAt(life, IDLE, NOW)).toBe(NOW + CHECK_LISTED_MS);
      expect(dueAt(life, { ...IDLE, sweepAt: NOW + 10 }, NOW)).toBe(NOW + 10);
    }
    const many = lifeAfter(CREATED, CHILD, { kind: "acknowledged", progress: listed, now: NOW });
    expect(dueAt(many, { ...IDLE, sweepAt: expiry }, NOW)).toBe(expiry);
    expect(dueAt(many, IDLE, NOW)).toBe(null);
  });

  it("leaves a sweep to a caller for a minute", () => {
    const work = { ...IDLE, sweepAt: NOW, hasDead: true, sweptByCaller: true };
    expect(dueAt(lifeAfter(CREATED), work, NOW)).toBe(NOW + 60_000);
  });
});

it("no row number up to that of a deleted token is used again, nor one before this moment in a tree that is reused", () => {
  const row = firstRowAt(NOW) + 7;
  expect(floorAfter(row, false, true, NOW + 50)).toBe(row);
  expect(floorAfter(row, true, true, NOW + 50)).toBe(firstRowAt(NOW + 51) - 1);
  expect(floorAfter(row, true, true, NOW - 50)).toBe(row);
});

describe("the life of a tree", () => {
  it.each<[string, readonly TreeEvent[], Life]>([
    ["created from a ledger", [CREATED], { state: "unlisted", by: "shard" }],
    [
      "created after its shard has asked in vain",
      [{ kind: "asked while empty", isReusable: false }, CREATED],
      { state: "unlisted", by: "tree", tokens: "single", checkAt: NOW + CHECK_LISTED_MS },
    ],
    [
      "confirmed by the shards",
      [CREATED_ALONE, { kind: "acknowledged", progress: listed, now: NOW }],
      { state: "listed", tokens: "single" },
    ],
    [
      "with a child that was swept before it was sent",
      [CREATED, CHILD, { kind: "acknowledged", progress: { ...listed, confirmed: false }, now: NOW + 9 }],
      { state: "listed", tokens: "many" },
    ],
    [
      "while a shard does not answer",
      [CREATED, CHILD, { kind: "unanswered", retryAt: NOW + 9000 }],
      { state: "unlisted", by: "tree", tokens: "many", checkAt: NOW + 9000 },
    ],
    ["asked for the end of a token that others are below", [CREATED, { kind: "end is due" }], ending("single", false)],
    ["removed from the list with its id", [CREATED, CHILD, { kind: "delisted", areLast: true }], ending("many", true)],
    [
      "whose only token is dead when it is to be listed",
      [CREATED, { kind: "delisted", areLast: true }, { kind: "first token listed", isAlive: false }],
      ending("single", true),
    ],
    [
      "restored with one token",
      [
        { kind: "woke", tokens: "single", hasUnlisted: false, alarmAt: NOW, isAlarmLost: false, now: NOW },
        { kind: "first token listed", isAlive: true },
      ],
      { state: "listed", tokens: "single" },
    ],
    [
      "awake after its alarm was lost",
      [{ kind: "woke", tokens: "single", hasUnlisted: false, alarmAt: null, isAlarmLost: true, now: NOW }],
      { state: "unlisted", by: "tree", tokens: "single", checkAt: NOW + CHECK_LISTED_MS },
    ],
    ["released and reused", [CREATED, { kind: "released", isReused: true }], free(true)],
    [
      "whose id a shard has not received",
      [CREATED, { kind: "released", isReused: true }, { kind: "not returned" }],
      free(false),
    ],
    ["released where trees are not reused", [CREATED, { kind: "released", isReused: false }], { state: "deleted" }],
  ])("%s", (_, events, life) => {
    expect(lifeAfter(...events)).toEqual(life);
  });
});

function ending(tokens: "single" | "many", isPooled: boolean): Life {
  return { state: "ending", tokens, isPooled };
}

function free(isPooled: boolean): Life {
  return { state: "free", isPooled, isForgotten: false };
}

const KINDS: readonly Operation["kind"][] = [
  ...(["create", "create", "create alone", "child", "read", "read", "deliver", "deliver", "revoke", "pass"] as const),
  ...(["tree alarms", "tree alarms", "shard alarm", "shard alarm", "crash", "move", "clock back"] as const),
];

const operations = fc.array(
  fc.record<Operation>({
    kind: fc.constantFrom(...KINDS),
    pick: fc.nat(1000),
    /** The step of the operation at which an isolate ends; beyond its last step: none does. */
    endsAt: fc.nat(6),
    ms: fc.constantFrom(1, 400, 5000, 31_000, 61_000),
    ttl: fc.constantFrom(null, 10_000, 100_000),
  }),
  { minLength: 5, maxLength: 60 },
);

describe.each([
  ["Cloudflare's network", NETWORK],
  ["one process", ONE_PROCESS],
  ["a cluster", CLUSTER],
])("any history with crashes, in %s", (_, deployment) => {
  it("leaves each live token listed or to an alarm or a ledger, uses no row number twice, and comes to rest", () => {
    fc.assert(
      fc.property(operations, (history) => {
        expect(runHistory(deployment, history)).toEqual([]);
      }),
      { numRuns: 1500 },
    );
  });
});
