import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { MAX_BATCH_ENTRIES, mentionOf, type UseCount } from "../../../src/audit/entry.ts";
import { AUDIT_KINDS, type AuditFilter, kindOfLine } from "../../../src/audit/query.ts";
import {
  type EventCursor,
  FIRST_PAGE,
  type FoundEvent,
  forgetAuditObjects,
  readEventCursor,
  searchEvents,
  searchUses,
  writeEventCursor,
} from "../../../src/audit/search.ts";
import { AuditShard } from "../../../src/audit/shard/audit-shard.ts";
import { append, batchOf, entryOf, initializedAlone, shard } from "../../support/audit-store.ts";
import { atCalls, holdAlarms } from "../../support/calls.ts";
import { bindings } from "../../support/service.ts";
import { alter, changeRows, deleteRows } from "../../support/storage-writer.ts";

const NOW = Date.parse("2026-05-01T12:00:00Z");
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

beforeAll(initializedAlone);

beforeEach(() => {
  holdAlarms();
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  forgetAuditObjects();
});

const accessor = (name: string) => mentionOf("accessor", name);
const numberOf = ({ line }: { readonly line: string }) => Number(JSON.parse(line).request_id.slice(1));

interface Asked {
  readonly mentions?: readonly string[];
  readonly filter?: AuditFilter;
  readonly newestFirst?: boolean;
  readonly limit?: number;
}

/** All pages of an answer. */
async function pages({ mentions = [], filter = {}, newestFirst = false, limit = 3 }: Asked): Promise<FoundEvent[][]> {
  const found: FoundEvent[][] = [];
  for (let cursor: EventCursor | null = FIRST_PAGE; cursor; ) {
    const page = await searchEvents(bindings, { mentions, filter, newestFirst, limit, cursor });
    found.push([...page.events]);
    cursor = page.next && readEventCursor(writeEventCursor(page.next));
  }
  return found;
}

const all = async (asked: Asked) => (await pages(asked)).flat();

describe("events of several objects", () => {
  const PATHS = ["auth/token/create", "sys/policies/acl/x", "sys/policies/acl/y"];
  const NAMES = ["a", "b", "c"];
  const stored: { number: number; at: number; storedAt: number; accessor: string; path: string }[] = [];

  beforeAll(async () => {
    holdAlarms();
    vi.useFakeTimers({ toFake: ["Date"], now: NOW - 20 * DAY_MS });
    const newest = new Map<number, number>();
    for (let number = 0; number < 120; ) {
      const which = (number * 7) % 3;
      const batch = Array.from({ length: 1 + (number % 4) }, () => {
        const at = Date.now() - (number % 5 === 0 ? 2 * HOUR_MS : 0);
        const event = { number, at, accessor: NAMES[(number * 5) % 3] ?? "", path: PATHS[number % 3] ?? "" };
        stored.push({ ...event, storedAt: Date.now() });
        return entryOf(number++, event);
      });
      const object = () => `${which}/${newest.get(which) ?? 1}`;
      const entries = batchOf(batch);
      while ((await append(object(), entries)) === "full") newest.set(which, (newest.get(which) ?? 1) + 1);
      vi.setSystemTime(Date.now() + 9 * HOUR_MS);
    }
    expect(Math.min(...newest.values())).toBeGreaterThan(1);
  });

  const aQuestion = fc.record({
    about: fc.option(fc.constantFrom(...NAMES), { nil: null }),
    prefix: fc.constantFrom(undefined, "sys/", "sys/policies/acl/y"),
    from: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
    until: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
    newestFirst: fc.boolean(),
    limit: fc.integer({ min: 1, max: 30 }),
  });

  it("are found in order, in pages, each once, as a list of all would have them", () =>
    fc.assert(
      fc.asyncProperty(aQuestion, async ({ about, prefix, from, until, newestFirst, limit }) => {
        const time = (days: number) => NOW - (20 - days) * DAY_MS;
        const filter = {
          ...(from !== undefined && { from: time(from) }),
          ...(until !== undefined && { until: time(until) }),
          ...(prefix !== undefined && { pathPrefix: prefix }),
        };
        const mentions = about === null ? [] : [accessor(about)];
        const found = await pages({ mentions, filter, newestFirst, limit });
        const expected = stored.filter(
          (event) =>
            (about === null || event.accessor === about) &&
            event.path.startsWith(prefix ?? "") &&
            event.at >= (filter.from ?? 0) &&
            event.at < (filter.until ?? Number.POSITIVE_INFINITY),
        );
        const numbers = expected.map(({ number }) => number);
        expect(found.flat().map(numberOf)).toEqual(newestFirst ? numbers.reverse() : numbers);
        expect(found.every(({ length }) => length <= limit)).toBe(true);
      }),
      { numRuns: 60 },
    ));

  it("are in order also when an object answers a part of what it was asked for", async () => {
    let pauses = 1;
    atCalls(AuditShard, "query", ({ proceed }) =>
      pauses-- > 0 ? { events: [], next: { seq: 0, storedAt: NOW - 20 * DAY_MS } } : proceed(),
    );
    expect((await all({ limit: 200 })).map(numberOf)).toEqual(stored.map(({ number }) => number));
  });

  it("with two mentions are those that have both", async () => {
    const [event] = stored;
    const mentions = [accessor(event?.accessor ?? ""), mentionOf("request", "r0")];
    expect((await all({ mentions })).map(numberOf)).toEqual([0]);
    expect(await all({ mentions: [accessor("b"), mentionOf("request", "r0")] })).toEqual([]);
    expect(await all({ mentions: [accessor("unknown")] })).toEqual([]);
  });
});

describe("a filter", () => {
  const line = (more: object) => ({ type: "response", path: "sys/auth/x", mount: "sys/", status: 204, ...more });
  const LINES = {
    change: line({ operation: "update" }),
    login: line({ path: "auth/ci/login", mount: "auth/ci/", status: 200 }),
    refusal: line({ status: 403 }),
    fault: line({ status: 503 }),
    other: { type: "refusals", count: 3 },
  };

  beforeAll(async () => {
    holdAlarms();
    const entries = Object.values(LINES).map((one) => ({
      at: 1,
      line: JSON.stringify(one),
      mentions: [accessor("f")],
    }));
    await append("10/1", batchOf(entries));
  });

  const kindsOf = async (filter: AuditFilter) =>
    (await all({ mentions: [accessor("f")], filter })).map((event) => kindOfLine(JSON.parse(event.line)));

  it("chooses by kind, mount, status and operation", async () => {
    expect(await kindsOf({})).toEqual(AUDIT_KINDS);
    for (const kind of AUDIT_KINDS) expect(await kindsOf({ kinds: [kind] })).toEqual([kind]);
    expect(await kindsOf({ mount: "auth/ci/" })).toEqual(["login"]);
    expect(await kindsOf({ status: 403 })).toEqual(["refusal"]);
    expect(await kindsOf({ operation: "update" })).toEqual(["change"]);
    expect(await kindsOf({ kinds: ["fault", "login"], mount: "sys/" })).toEqual(["fault"]);
  });
});

describe("a cursor", () => {
  it("that is none of the store is refused", () => {
    const texts = ["x", "!", "bnVsbA", btoa('{"0":[1]}'), btoa('{"0":["a",1]}').replaceAll("=", ""), "A".repeat(5000)];
    for (const cursor of texts) expect(readEventCursor(cursor)).toBeNull();
  });
});

describe("what was changed in the storage", () => {
  it("is left out: a row that does not open, and a record that does not mention what its list says", async () => {
    const at = { mentions: [accessor("s")] };
    await append("11/1", batchOf([entryOf(1, { accessor: "s" })]));
    await append("11/1", batchOf([entryOf(2, { accessor: "s" })]));
    await append("11/1", batchOf([entryOf(3, { accessor: "t" })]));
    expect((await all(at)).map(numberOf)).toEqual([1, 2]);
    await alter(shard("11/1"), "INSERT INTO mentions SELECT key, 3 FROM mentions WHERE seq = 1");
    await alter(
      shard("11/1"),
      "UPDATE batches SET sealed = (SELECT sealed FROM batches WHERE first_seq = 2) WHERE first_seq = 1",
    );
    expect((await all(at)).map(numberOf)).toEqual([2]);
    await deleteRows(shard("11/1"), "batches", { first_seq: 2 });
    expect(await all(at)).toEqual([]);
    await changeRows(shard("11/1"), "batches", { count: 7 }, { first_seq: 3 });
    expect(await all({ mentions: [accessor("t")] })).toEqual([]);
  });
});

describe("uses", () => {
  const use = (hour: number, more: Partial<UseCount> = {}) => {
    const times = { hour: hour * HOUR_MS, first: hour * HOUR_MS + 1, last: hour * HOUR_MS + 2 };
    return { accessor: "u", address: "192.0.2.1", count: 1, ...times, ...more };
  };

  it("of a token are added up over all objects, the newest first", async () => {
    await append("12/1", batchOf([], { uses: [use(1), use(2), use(2, { address: "192.0.2.2" }), use(3)] }));
    const later = use(2, { count: 4, first: 2 * HOUR_MS, last: 3 * HOUR_MS - 1 });
    await append("13/1", batchOf([], { uses: [later, use(9, { accessor: "v" })] }));
    const { uses, before } = await searchUses(bindings, "u", HOUR_MS, NOW);
    const shown = uses.map(({ hour, address, count, first, last }) => [
      ...[hour / HOUR_MS, address, count],
      ...[first % HOUR_MS, last % HOUR_MS],
    ]);
    expect(shown).toEqual([
      [3, "192.0.2.1", 1, 1, 2],
      [2, "192.0.2.1", 5, 0, HOUR_MS - 1],
      [2, "192.0.2.2", 1, 1, 2],
      [1, "192.0.2.1", 1, 1, 2],
    ]);
    expect(before).toBeNull();
    const some = await searchUses(bindings, "u", 2 * HOUR_MS, 3 * HOUR_MS);
    expect(some.uses.map(({ hour }) => hour / HOUR_MS)).toEqual([2, 2]);
  });

  it("of many addresses come in whole hours", async () => {
    const many = [1, 2, 3].flatMap((hour) =>
      Array.from({ length: 400 }, (_, at) => use(hour, { accessor: "w", address: `192.0.2.${at}` })),
    );
    for (let at = 0; at < many.length; at += MAX_BATCH_ENTRIES) {
      await append("14/1", batchOf([], { uses: many.slice(at, at + MAX_BATCH_ENTRIES) }));
    }
    const first = await searchUses(bindings, "w", 0, NOW);
    expect([first.uses.length, first.before]).toEqual([800, 2 * HOUR_MS]);
    const second = await searchUses(bindings, "w", 0, first.before ?? 0);
    expect([second.uses.length, second.before]).toEqual([400, null]);
  });

  it("of more addresses in an hour than an answer has rows are counted in one row", async () => {
    const many = Array.from({ length: 1003 }, (_, at) =>
      use(2, { accessor: "x", address: `198.51.${at >> 8}.${at % 256}`, count: 2 }),
    );
    for (let at = 0; at < many.length; at += MAX_BATCH_ENTRIES) {
      await append("15/1", batchOf([], { uses: many.slice(at, at + MAX_BATCH_ENTRIES) }));
    }
    await append("15/1", batchOf([], { uses: [use(1, { accessor: "x" })] }));
    const { uses, before } = await searchUses(bindings, "x", 0, NOW);
    expect(uses.filter(({ address }) => address !== null)).toHaveLength(1000);
    expect(uses.filter(({ address }) => address === null)).toEqual([
      { hour: 2 * HOUR_MS, address: null, count: 6, first: 2 * HOUR_MS + 1, last: 2 * HOUR_MS + 2 },
    ]);
    const older = await searchUses(bindings, "x", 0, before ?? 0);
    expect(older.uses.map(({ hour, count }) => [hour / HOUR_MS, count])).toEqual([[1, 1]]);
  });
});
