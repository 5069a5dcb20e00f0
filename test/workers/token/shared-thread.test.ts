import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import type { TreePosition } from "../../../src/tree/tidy/tidy-step.ts";
import { atCalls, callsTo } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { call, createToken, initialized } from "../../support/service.ts";
import { growTree, holdInventory, holdSweeps, locate, sweep, tokenRows } from "../../support/trees.ts";

/*
 * Where requests and clean-ups share one thread, a request waits for the piece of a clean-up that is running. So the pieces are small
 * while requests arrive. The clock of these tests stands still, so whether requests arrive does not depend on the machine.
 */

/** Some 150 for each shard of the list. */
const CHILDREN = 2400;

let root: string;

beforeEach(holdSweeps);
beforeEach(holdInventory);
beforeAll(async () => {
  runAs(ONE_PROCESS);
  root = await initialized();
});
afterAll(() => {
  runAs(NETWORK);
});
let clock = Date.now();

beforeEach(() => {
  clock += 24 * 3_600_000;
  vi.useFakeTimers({ now: clock, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

async function largeTree() {
  const { client_token: token } = await createToken(root, { no_parent: true, policies: ["default"], ttl: "24h" });
  await growTree(token, CHILDREN, "wide");
  pass(3_600_000);
  return { token, stub: (await locate(token)).stub };
}

/** Tokens of each call that removes those of a revoked tree from a shard of the list. */
async function sizesOfRemovals(beforeSweep: () => void): Promise<number[]> {
  const { token, stub } = await largeTree();
  const removals = callsTo(AccessorShard, "remove");
  await call("POST", "auth/token/revoke", { token: root, body: { token } });
  beforeSweep();
  await sweep(stub);
  return removals.calls.map(({ args: [tokens] }) => tokens.length);
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

describe("where requests share the thread of clean-ups", () => {
  it("a shard of the list removes more than 50 tokens in a call while no request arrives", async () => {
    const sizes = await sizesOfRemovals(() => pass(1000));
    expect(sum(sizes)).toBe(CHILDREN + 1);
    expect(Math.max(...sizes)).toBeGreaterThan(100);
  });

  it("it removes at most 50 in a call while requests arrive", async () => {
    const sizes = await sizesOfRemovals(() => ONE_PROCESS.pace.requestCame());
    expect(sum(sizes)).toBe(CHILDREN + 1);
    expect(Math.max(...sizes)).toBe(50);
  });

  it("a step of tidy checks 50 tokens of a tree, and calls one shard at a time", async () => {
    const { stub } = await largeTree();
    let inFlight = 0;
    let most = 0;
    const relisting = atCalls(AccessorShard, "relist", async ({ proceed }) => {
      most = Math.max(most, ++inFlight);
      // Other calls arrive meanwhile, if there are any.
      await new Promise((resolve) => setTimeout(resolve, 1));
      const relisted = await proceed();
      inFlight--;
      return relisted;
    });
    let from: TreePosition | null = null;
    for (let step = 0; step < 2; step++) {
      from = (await stub.tidy({ run: 1, from, accessors: [], customIds: [], aged: [] })).next;
    }
    const rows = (await tokenRows(stub)).map(({ row }) => row).sort((a, b) => a - b);
    expect(from).toEqual({ table: "tokens", after: rows[99] });
    expect([relisting.calls.length > 16, most]).toEqual([true, 1]);
  });
});
