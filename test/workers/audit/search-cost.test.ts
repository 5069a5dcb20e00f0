import { beforeAll, beforeEach, expect, it, vi } from "vitest";
import { mentionOf } from "../../../src/audit/entry.ts";
import type { AuditFilter } from "../../../src/audit/query.ts";
import { append, batchOf, entryOf, initializedAlone, plantRows, shard } from "../../support/audit-store.ts";
import { holdAlarms } from "../../support/calls.ts";
import { costOf } from "../../support/costs.ts";

const NOW = Date.parse("2026-05-01T12:00:00Z");
const PLANTED_ROWS = 2000;
const PAGE = 100;

beforeAll(async () => {
  holdAlarms();
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  await initializedAlone();
  await append("0/1", batchOf([entryOf(0)]));
  await plantRows("0/1", PLANTED_ROWS, NOW);
  vi.setSystemTime(NOW + PLANTED_ROWS);
  for (let number = 1; number <= PAGE; number++) {
    const others = Array.from({ length: 9 }, (_, at) => entryOf(1000 * number + at, { accessor: "often" }));
    await append("0/1", batchOf([...others, entryOf(number, { accessor: number === 50 ? "rare" : "one" })]));
    vi.setSystemTime(Date.now() + 1);
  }
});

beforeEach(() => {
  holdAlarms();
});

async function rowsRead(mentions: readonly string[], filter: AuditFilter = {}, limit = PAGE, newestFirst = true) {
  const question = { mentions, filter, newestFirst, after: null, limit };
  let found = 0;
  const ask = async () => {
    found = (await shard("0/1").query(question)).events.length;
  };
  await ask();
  const { rowsRead: read, rowsWritten } = await costOf(shard("0/1"), ask);
  expect(rowsWritten).toBe(0);
  return { found, read };
}

const accessor = (name: string) => mentionOf("accessor", name);

it("a page of a token's events reads two rows for each, however many others there are", async () => {
  const costs = [
    await rowsRead([accessor("one")]),
    await rowsRead([accessor("one")], {}, PAGE, false),
    await rowsRead([accessor("one")], {}, 10),
    await rowsRead([accessor("nobody")]),
  ];
  expect(costs.map(({ found }) => found)).toEqual([99, 99, 10, 0]);
  // The end of a list can be the first row of another one. Which one follows it depends on the keys.
  for (const { found, read } of costs) expect([0, 1, 2]).toContain(read - 2 * found);
});

it("two mentions cost what the rarer one has", async () => {
  const { found, read } = await rowsRead([accessor("often"), mentionOf("request", "r50000")]);
  expect(found).toBe(1);
  expect(read).toBeLessThan(10);
  expect((await rowsRead([accessor("often"), accessor("rare")])).read).toBeLessThan(10);
});

it("a time is found by halves", async () => {
  const { found, read } = await rowsRead([accessor("one")], { from: NOW + 200_000 });
  expect(found).toBe(0);
  expect(read).toBeLessThan(2 * Math.log2(10 * (PLANTED_ROWS + PAGE)));
});
