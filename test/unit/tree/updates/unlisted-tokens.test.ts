import { describe, expect, it } from "vitest";
import { fixedPart, type InventoryEntry } from "../../../../src/listing/inventory/entry.ts";
import { PLAIN_RECORD } from "../../../../src/token/record.ts";
import { NewTokens } from "../../../../src/tree/updates/unlisted-tokens.ts";

const NOW = Date.UTC(2026, 5, 1);

/** A tree with rows, of which shards know those that `heard` says. */
function tree() {
  const rows: number[] = [];
  const published: string[] = [];
  const heard = new Set<string>();
  const state = { upTo: 0 };
  const mark = {
    outbox: (after: number, limit: number) =>
      rows
        .filter((row) => row > Math.max(state.upTo, after))
        .sort((a, b) => a - b)
        .slice(0, limit),
    listed: (upTo: number) => {
      state.upTo = Math.max(state.upTo, upTo);
    },
  };
  const tokens = new NewTokens(mark, {
    describe: (of) => of.map((row) => entryOf(`accessor ${row}`)),
    publish: ({ accessor }) => published.push(accessor),
    isOnItsWay: (accessor) => !heard.has(accessor),
  });
  const write = (row: number) => {
    rows.push(row);
    tokens.written(row);
  };
  const hear = (...of: number[]) => {
    for (const row of of) heard.add(`accessor ${row}`);
    return tokens.noteListed();
  };
  return { tokens, published, state, write, hear };
}

function entryOf(accessor: string): InventoryEntry {
  return {
    ...fixedPart({
      ...PLAIN_RECORD,
      path: "auth/token/create",
      displayName: "token",
      policies: [],
      createdAt: NOW,
      creationTtl: 0,
    }),
    accessor,
    parent: null,
    first: false,
    expiresAt: null,
    renewedAt: null,
    usesLeft: 0,
    children: 0,
    lastUsed: null,
  };
}

describe("the outbox of new tokens", () => {
  it("hands tokens over while others are on their way, each once", () => {
    const { tokens, published, write } = tree();
    write(10);
    expect(tokens.enqueue()).toEqual([10]);
    write(20);
    expect(tokens.enqueue()).toEqual([20]);
    expect(tokens.enqueue()).toEqual([]);
    expect(published).toEqual(["accessor 10", "accessor 20"]);
  });

  it("moves the mark as far as the shards know all, in order", () => {
    const { tokens, state, write, hear } = tree();
    write(10);
    tokens.enqueue();
    write(20);
    tokens.enqueue();
    expect(hear(20)).toEqual({ confirmed: false, isOnItsWay: true, isMore: false });
    expect(state.upTo).toBe(0);
    expect(hear(10)).toEqual({ confirmed: true, isOnItsWay: false, isMore: false });
    expect(state.upTo).toBe(20);
    expect([tokens.isOnItsWay, tokens.hasUnlisted]).toEqual([false, false]);
  });

  it("leaves a row behind the mark that was written after a greater one was read", () => {
    const { tokens, state, published, write, hear } = tree();
    write(10);
    write(30);
    tokens.enqueue();
    write(20);
    hear(10, 30);
    expect(state.upTo).toBe(19);
    expect(tokens.enqueue()).toEqual([20, 30]);
    hear(20);
    expect(state.upTo).toBe(30);
    expect(published).toContain("accessor 20");
  });

  it("reads no more while too much is on its way", () => {
    const { tokens, write } = tree();
    expect(tokens.hasUnlisted).toBe(false);
    for (let row = 1; row <= 30; row++) {
      write(row);
      tokens.enqueue();
    }
    expect(tokens.isBehind).toBe(true);
    expect(tokens.enqueue()).toEqual([]);
    expect(tokens.noteListed()).toEqual({ confirmed: false, isOnItsWay: true, isMore: true });
  });
});
