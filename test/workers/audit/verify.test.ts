import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { systemOf } from "../../../src/system/system.ts";
import { append, batchOf, deleteAll, directory, entryOf, initializedAlone, shard } from "../../support/audit-store.ts";
import { holdAlarms, ringAlarm } from "../../support/calls.ts";
import { crash } from "../../support/objects.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, dataOf, tokenUnder } from "../../support/service.ts";
import { alter, changeRows, deleteRows, insertRows } from "../../support/storage-writer.ts";

const DAY_MS = 86_400_000;
const ROWS = 5;

let root: string;
let shards = 0;

beforeAll(async () => {
  root = await initializedAlone();
});

beforeEach(() => {
  holdAlarms();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-05-01T12:00:00Z") });
  vi.spyOn(console, "error").mockReturnValue(undefined);
});

interface Verified {
  readonly objects: number;
  readonly records: number;
  readonly problems: readonly { readonly object: string; readonly problem: string; readonly seq: number }[];
  readonly cursor: string;
}

/** What all calls together say, and how many there were. */
async function verified() {
  const all = { objects: 0, records: 0, calls: 0, problems: [] as Verified["problems"][number][] };
  for (let cursor: string | null = null; cursor !== ""; ) {
    const query: string = cursor === null ? "" : `?cursor=${cursor}`;
    const part: Verified = dataOf(await call("GET", `sys/audit/verify${query}`, { token: root }));
    all.objects += part.objects;
    all.records += part.records;
    all.problems.push(...part.problems);
    all.calls++;
    cursor = part.cursor;
  }
  return all;
}

const problemsOf = async (...objects: string[]) =>
  (await verified()).problems
    .filter(({ object }) => objects.includes(object))
    .map(({ problem, seq }) => [problem, seq]);

/** An object of a shard of its own, with rows of two records each, which the directory knows. */
async function filled(rows = ROWS, number = 1): Promise<string> {
  const name = `${number === 1 ? ++shards : shards}/${number}`;
  for (let row = 0; row < rows; row++) await append(name, batchOf([entryOf(2 * row), entryOf(2 * row + 1)]));
  await report(name);
  return name;
}

async function report(name: string): Promise<void> {
  vi.setSystemTime(Date.now() + 10_000);
  await ringAlarm(shard(name));
}

describe("what somebody with the storage alone does", () => {
  const cases: Readonly<
    Record<string, readonly [forge: (name: string) => Promise<void>, problem: string, seq: number]>
  > = {
    "a row is deleted": [(name) => deleteRows(shard(name), "batches", { first_seq: 5 }), "gap", 5],
    "the first row is deleted": [(name) => deleteRows(shard(name), "batches", { first_seq: 1 }), "gap", 1],
    "the tail is cut": [(name) => alter(shard(name), "DELETE FROM batches WHERE first_seq > 6"), "cut", 7],
    "a time is changed": [(name) => changeRows(shard(name), "batches", { at: 1 }, { first_seq: 5 }), "changed", 5],
    "records of another row are put in its place": [
      (name) =>
        alter(
          shard(name),
          "UPDATE batches SET sealed = (SELECT sealed FROM batches WHERE first_seq = 3) WHERE first_seq = 5",
        ),
      "changed",
      5,
    ],
    "a digest is changed": [
      (name) => changeRows(shard(name), "batches", { digest: "x" }, { first_seq: 5 }),
      "changed",
      5,
    ],
    "a record is taken off a list": [(name) => deleteRows(shard(name), "mentions", { seq: 4 }), "hidden", 3],
    "the object is emptied": [(name) => deleteAll(shard(name)), "missing", 0],
    "the object is said to begin elsewhere": [
      (name) => changeRows(shard(name), "about", { begins: "x" }),
      "changed",
      0,
    ],
  };

  it.each(Object.entries(cases))("%s: it is named", async (_, [forge, problem, seq]) => {
    const name = await filled();
    expect(await problemsOf(name)).toEqual([]);
    await forge(name);
    await crash(shard(name));
    expect(await problemsOf(name)).toEqual([[problem, seq]]);
  });

  it("records are said to be indexed that are not: they are named", async () => {
    const name = await filled();
    await alter(shard(name), "INSERT INTO indexed (one, seq) VALUES (1, 6)");
    await crash(shard(name));
    expect(await problemsOf(name)).toEqual([["hidden", 1]]);
  });

  it("two objects are swapped: both are named", async () => {
    const [one, other] = [await filled(), await filled()];
    const TABLES = ["about", "batches", "mentions"];
    const contents = async (name: string) =>
      Object.fromEntries(await Promise.all(TABLES.map(async (table) => [table, await rowsOf(shard(name), table)])));
    const [ofOne, ofOther] = [await contents(one), await contents(other)];
    for (const [name, content] of [
      [one, ofOther],
      [other, ofOne],
    ] as const) {
      for (const table of TABLES) {
        await deleteRows(shard(name), table);
        await insertRows(shard(name), table, content[table]);
      }
      await crash(shard(name));
    }
    expect(await problemsOf(one, other)).toEqual([
      ["another object", 0],
      ["another object", 0],
    ]);
  });

  it("an earlier state is put back and goes on: it stays named", async () => {
    const name = await filled();
    const rows = await rowsOf(shard(name), "batches");
    await alter(shard(name), "DELETE FROM batches WHERE first_seq > 6");
    await crash(shard(name));
    for (let row = 0; row < 4; row++) await append(name, batchOf([entryOf(90 + row)]));
    expect(rows).toHaveLength(ROWS);
    await report(name);
    expect(await problemsOf(name)).toEqual([["cut", 11]]);
    await append(name, batchOf([entryOf(99)]));
    await report(name);
    expect(await problemsOf(name)).toEqual([["cut", 11]]);
  });

  it("an earlier state is put back and goes on, and nothing was reported yet: the place of the known head is named", async () => {
    const name = await filled();
    await alter(shard(name), "DELETE FROM batches WHERE first_seq > 6");
    await crash(shard(name));
    for (let row = 0; row < 4; row++) await append(name, batchOf([entryOf(90 + row)]));
    expect(await problemsOf(name)).toEqual([["replaced", 10]]);
  });

  it("an earlier state is put back and goes on, behind the rows of the first step: it is named too", async () => {
    const name = await filled(105);
    await alter(shard(name), "DELETE FROM batches WHERE first_seq > 206");
    await crash(shard(name));
    for (let row = 0; row < 4; row++) await append(name, batchOf([entryOf(900 + row)]));
    expect(await problemsOf(name)).toEqual([["replaced", 210]]);
  });

  it("an entry of the directory is changed or deleted: it is named", async () => {
    const [one, next] = [await filled(), `${shards}/2`];
    vi.setSystemTime(Date.now() + 4 * DAY_MS);
    expect(await append(one, batchOf([entryOf(1)]))).toBe("full");
    await append(next, batchOf([entryOf(1)]));
    await report(next);
    expect(await problemsOf(one, next)).toEqual([]);
    await changeRows(directory(), "objects", { seq: 3 }, { name: one });
    await crash(directory());
    expect(await problemsOf(one, next)).toEqual([["unlisted", 0]]);
    await deleteRows(directory(), "objects", { name: one });
    await crash(directory());
    expect(await problemsOf(one, next)).toEqual([["unlisted", 0]]);
  });
});

describe("entries of the directory are deleted while the server is stopped", () => {
  const deleteEntries = async (where = "1 = 1") => {
    await alter(directory(), `DELETE FROM objects WHERE ${where}`);
    await crash(directory());
  };
  const listed = async (name: string) => (await directory().stored()).some((object) => object.name === name);
  const audit = async () => {
    Object.assign(bindings, { AUDIT_STORE: "on" });
    const { checks } = dataOf<{ checks: { name: string; state: string; seen: string }[] }>(
      await call("GET", "sys/doctor", { token: root }),
    );
    Object.assign(bindings, { AUDIT_STORE: "off" });
    return checks.find(({ name }) => name === "audit");
  };

  it("all of them: they are named, the doctor says so, and the records are found again", async () => {
    const name = await filled();
    await deleteEntries();
    expect(await audit()).toMatchObject({ state: "failing", seen: expect.stringContaining("storage was changed") });
    expect(await problemsOf(name)).toEqual([["unlisted", 0]]);
    expect(await listed(name)).toBe(true);
    await append(name, batchOf([entryOf(99)]));
    await report(name);
    expect(await problemsOf(name)).toEqual([["unlisted", 0]]);
    expect((await directory().find(name))?.seq).toBe(2 * ROWS + 1);
  });

  it("the newest of a shard alone: it is named, also when its object is deleted too", async () => {
    for (const isDeleted of [false, true]) {
      const [one, next] = [await filled(), `${shards}/2`];
      vi.setSystemTime(Date.now() + 4 * DAY_MS);
      expect(await append(one, batchOf([entryOf(1)]))).toBe("full");
      await append(next, batchOf([entryOf(1)]));
      await deleteEntries(`name = '${next}'`);
      if (isDeleted) await deleteAll(shard(next));
      expect(await problemsOf(one, next)).toEqual([["unlisted", 0]]);
    }
  });

  it("a new object takes no place of a lost one", async () => {
    const name = await filled();
    await deleteEntries(`name = '${name}'`);
    await deleteAll(shard(name));
    expect(await append(name, batchOf([entryOf(1)]))).toBe("full");
    expect(await problemsOf(name)).toEqual([["unlisted", 0]]);
  });

  it("also the numbers that System knows: the shards themselves are asked", async () => {
    await append("0/1", batchOf([entryOf(1)]));
    await deleteEntries("shard = 0");
    await alter(systemOf(bindings), "DELETE FROM audit_numbers");
    expect(await problemsOf("0/1")).toEqual([["unlisted", 0]]);
  });

  it("an object that reports a head is listed again", async () => {
    const name = await filled();
    await append(name, batchOf([entryOf(99)]));
    await alter(directory(), `DELETE FROM objects WHERE name = '${name}'`);
    await report(name);
    expect(await listed(name)).toBe(true);
    expect(await problemsOf(name)).toEqual([["unlisted", 0]]);
  });

  it("a head names what it named before, also when the records are deleted by retention", async () => {
    const name = await filled();
    const named = async () => {
      vi.setSystemTime(Date.now() + 3_600_000);
      await ringAlarm(directory());
      const [, payload = ""] = (await directory().signedHeads()).at(-1)?.split(".") ?? [];
      const { heads } = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))) as {
        heads: { object: string; dropped?: boolean }[];
      };
      return heads.find(({ object }) => object === name);
    };
    expect(await named()).toMatchObject({ object: name, seq: 2 * ROWS });
    await deleteEntries();
    expect(await named()).toMatchObject({ object: name, seq: 2 * ROWS });
    vi.setSystemTime(Date.now() + 40 * DAY_MS);
    await ringAlarm(directory());
    await named();
    expect(await named()).toMatchObject({ object: name, dropped: true });
  });
});

it("needs sudo, and a cursor of its own", async () => {
  const reader = await tokenUnder(root, 'path "sys/audit/*" { capabilities = ["read"] }');
  for (const path of ["sys/audit/verify", "sys/audit/archive", "sys/audit/archive/1/1"]) {
    expect((await call("GET", path, { token: reader })).status).toBe(403);
  }
  for (const cursor of ["x", btoa("1/1 2 3").replaceAll("=", ""), "A".repeat(400)]) {
    expect((await call("GET", `sys/audit/verify?cursor=${cursor}`, { token: root })).status).toBe(400);
  }
});

it("of a whole store finds nothing, over several pages", async () => {
  const name = await filled(850);
  const { records, calls, problems } = await verified();
  expect(problems.filter(({ object }) => object === name)).toEqual([]);
  expect([records >= 1700, calls > 1]).toEqual([true, true]);
  await deleteRows(shard(name), "batches", { first_seq: 1699 });
  expect(await problemsOf(name)).toEqual([["cut", 1699]]);
});
