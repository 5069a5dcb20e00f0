import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { digestAfter, FIRST_DIGEST } from "../../../src/audit/chain.ts";
import { AuditDirectory } from "../../../src/audit/directory/audit-directory.ts";
import {
  MAX_BATCH_CHARACTERS,
  MAX_BATCH_ENTRIES,
  MAX_BATCH_USES,
  MAX_MENTIONS,
  MAX_RECORD_LENGTH,
  mentionOf,
  type UseCount,
} from "../../../src/audit/entry.ts";
import {
  append,
  batchOf,
  deleteAll,
  directory,
  entryOf,
  failure,
  initializedAlone,
  shard,
} from "../../support/audit-store.ts";
import { atNth, callsTo, failing, holdAlarms, ringAlarm } from "../../support/calls.ts";
import { costOf } from "../../support/costs.ts";
import { crash } from "../../support/objects.ts";
import { rowsOf, storedText } from "../../support/rows.ts";

const DAY_MS = 86_400_000;

beforeAll(initializedAlone);

beforeEach(() => {
  holdAlarms();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-05-01T12:00:00Z") });
});

const heads = (name: string) => directory().find(name);

describe("a batch", () => {
  it("is one row", async () => {
    const entries = [entryOf(1), entryOf(2, { accessor: "a1" })];
    expect(await append("0/1", batchOf(entries))).toBe("stored");
    const [row, ...others] = await rowsOf(shard("0/1"), "batches");
    expect(others).toEqual([]);
    const lines = entries.map(({ line }) => line);
    expect(row).toMatchObject({ first_seq: 1, count: 2, at: Date.now(), digest: digestAfter(FIRST_DIGEST, lines) });
  });

  it("is indexed by what its records mention before a question is answered, also after a crash", async () => {
    const found = async () => {
      const question = {
        mentions: [mentionOf("accessor", "mine")],
        filter: {},
        newestFirst: false,
        after: null,
        limit: 10,
      };
      return (await shard("44/1").query(question)).events.map(({ seq }) => seq);
    };
    await append("44/1", batchOf([entryOf(1), entryOf(2, { accessor: "mine" })]));
    await append("44/1", batchOf([entryOf(3, { accessor: "mine" })]));
    expect(await rowsOf(shard("44/1"), "mentions")).toEqual([]);
    await crash(shard("44/1"));
    await append("44/1", batchOf([entryOf(4, { accessor: "mine" })]));
    expect(await found()).toEqual([2, 3, 4]);
    const mentions = await rowsOf(shard("44/1"), "mentions");
    expect(mentions.map(({ seq }) => seq).sort()).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
    await append("44/1", batchOf([entryOf(5, { accessor: "mine" })]));
    expect(await found()).toEqual([2, 3, 4, 5]);
  });

  it("writes a row for each mention, and one more, when it is indexed", async () => {
    await append("46/1", batchOf(Array.from({ length: 100 }, (_, at) => entryOf(1 + at))));
    const question = {
      mentions: [mentionOf("accessor", "a1")],
      filter: {},
      newestFirst: false,
      after: null,
      limit: 10,
    };
    const costs = await costOf(shard("46/1"), () => shard("46/1").query(question));
    expect(costs.rowsWritten).toBe(201);
  });

  it("is indexed with others when many wait", async () => {
    for (let batch = 0; batch < 3; batch++) {
      await append("45/1", batchOf(Array.from({ length: 50 }, (_, at) => entryOf(1 + 50 * batch + at))));
    }
    await expect.poll(async () => (await rowsOf(shard("45/1"), "mentions")).length).toBe(300);
    await append("45/1", batchOf([entryOf(151)]));
    expect(await rowsOf(shard("45/1"), "mentions")).toHaveLength(300);
  });

  it("goes on with the chain, also in a new instance, and its time never goes back", async () => {
    await append("1/1", batchOf([entryOf(1)]));
    const before = Date.now();
    vi.setSystemTime(before - 60_000);
    await append("1/1", batchOf([entryOf(2)]));
    await crash(shard("1/1"));
    await append("1/1", batchOf([entryOf(3), entryOf(4)]));
    const rows = await rowsOf(shard("1/1"), "batches");
    expect(rows.map(({ first_seq, at }) => [first_seq, at])).toEqual([1, 2, 3].map((seq) => [seq, before]));
    expect(rows.map(({ since }) => since)).toEqual([before, before - 60_000, before - 60_000]);
    const lines = [before, before - 60_000, before - 60_000, before - 60_000].map(
      (at, i) => entryOf(i + 1, { at }).line,
    );
    expect(rows.at(-1)?.digest).toBe(digestAfter(FIRST_DIGEST, lines));
  });

  it("says nothing to a reader of the storage", async () => {
    const uses = [{ accessor: "acc", address: "192.0.2.77", hour: 0, count: 1, first: 1, last: 1 }];
    await append("2/1", batchOf([entryOf(1, { path: "sys/policies/acl/telling" })], { uses }));
    const text = await storedText(shard("2/1"));
    for (const word of ["telling", "192.0.2.77", "accessor", "r1"]) expect(text).not.toContain(word);
  });

  it("of many long records is several rows of one transaction", async () => {
    const long = Array.from({ length: 10 }, (_, at) => ({ ...entryOf(at), line: JSON.stringify("x".repeat(16_000)) }));
    await append("3/1", batchOf(long));
    const rows = await rowsOf(shard("3/1"), "batches");
    expect(rows.map(({ first_seq, count }) => [first_seq, count])).toEqual([
      [1, 4],
      [5, 4],
      [9, 2],
    ]);
  });

  it("is stored once, however often it is sent, also when a later one came before", async () => {
    const [first, second] = [batchOf([entryOf(1)]), batchOf([entryOf(2)])];
    await append("4/1", second);
    for (const batch of [second, first, first, second]) expect(await append("4/1", batch)).toBe("stored");
    await crash(shard("4/1"));
    expect(await append("4/1", first)).toBe("stored");
    expect(await rowsOf(shard("4/1"), "batches")).toHaveLength(2);
    for (const batch of [{ ...first, writer: "another" }, first, second]) await append("4/1", batch);
    expect(await rowsOf(shard("4/1"), "batches")).toHaveLength(3);
  });

  it("that comes beside others has numbers of its own", async () => {
    await Promise.all([1, 2, 3, 4].map((number) => append("5/1", batchOf([entryOf(number), entryOf(number)]))));
    const rows = await rowsOf(shard("5/1"), "batches");
    expect(rows.map(({ first_seq }) => first_seq)).toEqual([1, 3, 5, 7]);
  });

  it("of the greatest size is taken", async () => {
    const mentions = Array.from({ length: MAX_MENTIONS }, (_, at) => mentionOf("entity", `${at}`));
    const line = JSON.stringify("x".repeat(MAX_BATCH_CHARACTERS / MAX_BATCH_ENTRIES));
    expect(line.length).toBeLessThan(MAX_RECORD_LENGTH);
    const entries = Array.from({ length: MAX_BATCH_ENTRIES }, () => ({ at: Date.now(), line, mentions }));
    const use = { address: "", hour: 0, count: 1, first: 1, last: 1 };
    const uses = Array.from({ length: MAX_BATCH_USES }, (_, at) => ({ ...use, accessor: `${at}` }));
    expect(await append("7/1", batchOf(entries, { uses }))).toBe("stored");
    expect(await rowsOf(shard("7/1"), "mentions")).toHaveLength(MAX_BATCH_ENTRIES * MAX_MENTIONS);
    expect(await rowsOf(shard("7/1"), "uses")).toHaveLength(MAX_BATCH_USES);
  });

  it("that fails leaves nothing, and the next one is stored", async () => {
    const opening = failing(AuditDirectory, "open");
    await expect(failure(append("6/1", batchOf([entryOf(1)])))).resolves.toContain("");
    opening.end();
    expect(await append("6/1", batchOf([entryOf(2)]))).toBe("stored");
    expect(await rowsOf(shard("6/1"), "batches")).toHaveLength(1);
  });
});

it("a transaction that is undone leaves an object that stores the next batch", async () => {
  const use = { accessor: "a", address: "", hour: null as never, count: 1, first: 1, last: 1 };
  await expect(failure(append("8/1", batchOf([entryOf(1)], { uses: [use] })))).resolves.toContain("NOT NULL");
  expect(await rowsOf(shard("8/1"), "batches")).toEqual([]);
  expect(await append("8/1", batchOf([entryOf(2)]))).toBe("stored");
  expect(await rowsOf(shard("8/1"), "batches")).toHaveLength(1);
});

describe("counts of use", () => {
  it("are added up by token, address and hour", async () => {
    const use = (more: Partial<UseCount>) => ({
      ...{ accessor: "acc", address: "192.0.2.1", hour: 0, count: 2, first: 50, last: 60 },
      ...more,
    });
    await append("10/1", batchOf([], { uses: [use({}), use({ hour: 3_600_000 }), use({ address: "" })] }));
    await append("10/1", batchOf([], { uses: [use({ count: 3, first: 40, last: 55 })] }));
    const uses = await rowsOf(shard("10/1"), "uses");
    const counts = uses.map(({ hour, count, first, last }) => [hour, count, first, last]);
    expect(counts.sort()).toEqual([
      [0, 2, 50, 60],
      [0, 5, 40, 60],
      [3_600_000, 2, 50, 60],
    ]);
    expect(await rowsOf(shard("10/1"), "addresses")).toHaveLength(2);
  });
});

describe("an object that is full", () => {
  it("takes nothing more, and the next one goes on with its chain", async () => {
    await append("20/1", batchOf([entryOf(1), entryOf(2)]));
    await expect(failure(append("20/2", batchOf([entryOf(3)])))).resolves.toContain("not full");
    vi.setSystemTime(Date.now() + 4 * DAY_MS);
    expect(await append("20/1", batchOf([entryOf(3)]))).toBe("full");
    expect(await append("20/1", batchOf([entryOf(3)]))).toBe("full");
    const full = await heads("20/1");
    expect(full).toMatchObject({ state: "closed", seq: 2, broken: null });
    await expect(failure(append("20/3", batchOf([entryOf(3)])))).resolves.toContain("not full");
    expect(await append("20/2", batchOf([entryOf(3)]))).toBe("stored");
    expect(await heads("20/2")).toMatchObject({ state: "open", begins: full?.digest });
    const [row] = await rowsOf(shard("20/2"), "batches");
    expect(row).toMatchObject({ first_seq: 1, digest: digestAfter(full?.digest ?? "", [entryOf(3).line]) });
  });

  it("is not passed over while the directory does not know its end", async () => {
    await append("21/1", batchOf([entryOf(1)]));
    vi.setSystemTime(Date.now() + 4 * DAY_MS);
    const witness = failing(AuditDirectory, "witness");
    await expect(failure(append("21/1", batchOf([entryOf(2)])))).resolves.toContain("");
    await expect(failure(append("21/2", batchOf([entryOf(2)])))).resolves.toContain("not full");
    witness.end();
    expect(await append("21/1", batchOf([entryOf(2)]))).toBe("full");
    expect(await append("21/2", batchOf([entryOf(2)]))).toBe("stored");
  });

  it("is one whose records were deleted: the shard goes on after those that are known", async () => {
    await append("22/1", batchOf([entryOf(1)]));
    await ringAlarm(shard("22/1"));
    await deleteAll(shard("22/1"));
    expect(await append("22/1", batchOf([entryOf(2)]))).toBe("full");
    expect(await heads("22/1")).toMatchObject({ state: "closed", seq: 1, broken: 1 });
    expect(await append("22/2", batchOf([entryOf(2)]))).toBe("stored");
  });
});

describe("the head of the chain", () => {
  it("is reported once for all appends of ten seconds", async () => {
    const reports = callsTo(AuditDirectory, "witness");
    await append("30/1", batchOf([entryOf(1)]));
    await ringAlarm(shard("30/1"));
    const first = reports.calls.length;
    for (const number of [2, 3, 4]) await append("30/1", batchOf([entryOf(number)]));
    await ringAlarm(shard("30/1"));
    expect(reports.calls.length - first).toBe(0);
    vi.setSystemTime(Date.now() + 10_000);
    await ringAlarm(shard("30/1"));
    expect(reports.calls.length - first).toBe(1);
    expect(await heads("30/1")).toMatchObject({ seq: 4, state: "open", broken: null });
    await ringAlarm(shard("30/1"));
    expect(reports.calls.length - first).toBe(1);
  });

  it("of a new instance is reported after it has shown that its chain has the known one", async () => {
    await append("31/1", batchOf([entryOf(1)]));
    await ringAlarm(shard("31/1"));
    await crash(shard("31/1"));
    await append("31/1", batchOf([entryOf(2)]));
    vi.setSystemTime(Date.now() + 10_000);
    await ringAlarm(shard("31/1"));
    expect(await heads("31/1")).toMatchObject({ seq: 2, broken: null });
  });
});

describe("a report of the head", () => {
  it("that takes long ends before the object goes on, so that an older head never replaces a newer one", async () => {
    await append("32/1", batchOf([entryOf(1)]));
    const [arrived, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    atNth(AuditDirectory, "witness", 1, async (proceed) => {
      arrived.resolve();
      await gate.promise;
      return proceed();
    });
    const reported = ringAlarm(shard("32/1"));
    await arrived.promise;
    const full = append("32/1", batchOf([entryOf(2)])).then(() => {
      vi.setSystemTime(Date.now() + 4 * DAY_MS);
      return append("32/1", batchOf([entryOf(3)]));
    });
    for (let times = 0; times < 10; times++) await shard("32/1").archivePage(0);
    gate.resolve();
    await reported;
    expect(await full).toBe("full");
    expect(await heads("32/1")).toMatchObject({ state: "closed", seq: 2, broken: null });
    expect(await append("32/2", batchOf([entryOf(3)]))).toBe("stored");
    const rows = await rowsOf(shard("32/1"), "batches");
    expect(await heads("32/2")).toMatchObject({ begins: rows.at(-1)?.digest });
  });

  it("that the directory refuses is repeated", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    await append("33/1", batchOf([entryOf(1)]));
    const known = { seq: 0, digest: FIRST_DIGEST };
    atNth(AuditDirectory, "witness", 2, () => known);
    await ringAlarm(shard("33/1"));
    expect(await heads("33/1")).toMatchObject({ seq: 0 });
    vi.setSystemTime(Date.now() + 10_000);
    await ringAlarm(shard("33/1"));
    expect(await heads("33/1")).toMatchObject({ seq: 1, broken: null });
  });
});

it("an object is registered under its own name", async () => {
  await expect(failure(append("40/x", batchOf([entryOf(1)])))).resolves.toContain("no object");
  await append("40/1", batchOf([entryOf(1)]));
  await expect(failure(shard("40/1").append("41/1", batchOf([entryOf(1)])))).resolves.toContain("another name");
});
