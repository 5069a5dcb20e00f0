import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { type InventoryEntry, UNKNOWN_ENTRY } from "../../../../src/listing/inventory/entry.ts";
import { SingleTokenWalk } from "../../../../src/listing/trees/single-token-walk.ts";
import type { Sql } from "../../../../src/storage/tables.ts";
import { routedIdText } from "../../../../src/token/ids.ts";

const NOW = Date.now();
const TREE = "5f".repeat(32);

/** The list of a shard, as far as the walk reads it. */
class List {
  readonly #database = new DatabaseSync(":memory:");

  constructor() {
    this.#database.exec("CREATE TABLE inventory (id INTEGER PRIMARY KEY, accessor TEXT, ends INTEGER, entry TEXT)");
  }

  readonly sql = {
    exec: (query: string, ...values: (string | number)[]) => {
      const rows = this.#database.prepare(query).all(...values);
      return Object.assign(rows, { toArray: () => rows });
    },
  } as unknown as Sql;

  /** Adds a token that is alone in its tree. */
  add(row: number, expiresAt: number): InventoryEntry {
    const entry = tokenAt(row, expiresAt);
    const insert = "INSERT INTO inventory (id, accessor, ends, entry) VALUES (?, ?, ?, ?)";
    this.#database.prepare(insert).run(row, entry.accessor, expiresAt, JSON.stringify(entry));
    return entry;
  }
}

function tokenAt(row: number, expiresAt: number): InventoryEntry {
  const accessor = routedIdText(TREE, row, new Uint8Array(24));
  return { ...UNKNOWN_ENTRY, accessor, first: true, leased: false, expiresAt };
}

it("keeps few of the tokens that are listed after their end, and calls the trees of all", async () => {
  const list = new List();
  const called = new Set<number>();
  const walk = new SingleTokenWalk(list.sql, async ({ row }) => {
    called.add(row);
    return { kind: "gone", isReusable: false, end: null };
  });
  list.add(1, NOW - 5_000);
  await walk.turn(NOW, () => {});
  for (let row = 1_000; row < 201_000; row += 1_000) {
    walk.listed(Array.from({ length: 1_000 }, (_, at) => tokenAt(row + at, NOW - 6_000)));
  }
  walk.listed([list.add(300_000, NOW - 7_000), list.add(300_001, NOW - 6_000)]);
  // Those that have left the list since cost no call, and a hundredth of a turn.
  let turns = 0;
  while (walk.nextAt(NOW) !== null && ++turns < 110) await walk.turn(NOW, () => {});
  expect([...called]).toEqual([1, 300_000, 300_001]);
});

it("forgets the pauses of a clock that was ahead", async () => {
  const list = new List();
  const calls: number[] = [];
  let now = NOW + 7_200_000;
  const walk = new SingleTokenWalk(list.sql, async () => {
    calls.push(now);
    return { kind: "ending" };
  });
  const end = NOW + 3_600_000;
  list.add(1, end);
  await walk.turn(now, () => {});
  now = NOW;
  await walk.turn(now, () => {});
  calls.length = 0;
  for (now of [end + 1_000, end + 61_000]) await walk.turn(now, () => {});
  expect(calls).toEqual([end + 1_000, end + 61_000]);
});
