import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { type InventoryEntry, newEntry } from "../../../src/listing/inventory/entry.ts";
import {
  type IndexedLease,
  type LeaseLevel,
  type LeasePosition,
  orderOfIndexed,
} from "../../../src/listing/lease-index.ts";
import { routedIdText } from "../../../src/token/ids.ts";
import { PLAIN_RECORD } from "../../../src/token/record.ts";
import { costOf } from "../../support/costs.ts";
import { bindings } from "../../support/service.ts";
import { insertRows } from "../../support/storage-writer.ts";

const TREE = "0".repeat(64);

/** A token of a tree that is nowhere. */
function tokenAt(row: number, path: string): InventoryEntry {
  const record = { ...PLAIN_RECORD, policies: [], displayName: "", path, createdAt: 0, creationTtl: 0 };
  return newEntry({ record, expiresAt: null }, routedIdText(TREE, row, new Uint8Array(24)), null);
}

/** A shard that no other test uses. */
function shardNamed(name: string): DurableObjectStub<AccessorShard> {
  return bindings.ACCESSOR_SHARD.getByName(name);
}

async function walkPages(shard: DurableObjectStub<AccessorShard>, prefix: string, limit: number): Promise<string[]> {
  const met: IndexedLease[] = [];
  for (const kind of ["token", "secret"] as const) {
    let position: LeasePosition | null = null;
    do {
      const page: { leases: readonly IndexedLease[]; next: LeasePosition | null } = await shard.leasesBelow(
        kind,
        prefix,
        position,
        limit,
      );
      met.push(...page.leases);
      position = page.next;
    } while (position);
  }
  return met.map(({ path, id }) => `${path}/${id}`);
}

/** The names of a level in the order of pages. */
function namesOf({ leases, folders }: LeaseLevel): string[] {
  return [...leases.map(orderOfIndexed), ...folders].sort();
}

const SEGMENT = fc.constantFrom("a", "a-b", "a.b", "a0", "aa", "b", "\u{1f600}", "ä");
const PATH = fc.array(SEGMENT, { minLength: 1, maxLength: 3 }).map((segments) => segments.join("/"));

describe("the index of leases by path", () => {
  it("meets each lease below a prefix exactly once, whatever the pages and the neighbours", async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(PATH, { maxLength: 12 }),
        fc.array(PATH, { maxLength: 6 }),
        PATH,
        fc.integer({ min: 1, max: 5 }),
        async (tokens, secrets, prefix, limit) => {
          const shard = shardNamed(`pages-${run++}`);
          const listed = tokens.map((path, i) => tokenAt(i + 1, path));
          await shard.relist(listed);
          const held = secrets.map((path, i) => ({ path, id: `id${i}` }));
          for (const { path, id } of held) await shard.addLease(id, path);
          const all = [...listed.map(({ path, accessor }) => ({ path, id: accessor })), ...held];
          const below = all
            .map(({ path, id }) => `${path}/${id}`)
            .filter((leaseId) => leaseId.startsWith(`${prefix}/`))
            .sort();
          expect((await walkPages(shard, `${prefix}/`, limit)).sort()).toEqual(below);
          expect(await walkPages(shard, "", limit)).toHaveLength(all.length);
          const { leases, folders } = await shard.leaseLevel(`${prefix}/`, "", 100);
          const names = below.map((leaseId) => leaseId.slice(prefix.length + 1));
          expect(leases.map(({ id }) => id).sort()).toEqual(names.filter((name) => !name.includes("/")).sort());
          const expected = new Set(names.filter((name) => name.includes("/")).map((name) => `${name.split("/")[0]}/`));
          expect(new Set(folders)).toEqual(expected);
        },
      ),
      { numRuns: 25 },
    );
  });

  it("gives one level page by page, each lease and folder once and in order", async () => {
    const name = fc.stringMatching(/^[a!.0-]{1,3}$/);
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((segments) => segments.join("/"));
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(path, { maxLength: 12 }),
        path,
        fc.integer({ min: 1, max: 4 }),
        async (paths, at, size) => {
          const shard = shardNamed(`levels-${run++}`);
          for (const [i, one] of [...paths, at, at, at].entries()) {
            await (i % 2 === 0 ? shard.relist([tokenAt(i + 1, one)]) : shard.addLease(`id${i}`, one));
          }
          for (const prefix of ["", `${at}/`]) {
            const whole = namesOf(await shard.leaseLevel(prefix, "", 100));
            const paged: string[] = [];
            for (;;) {
              const page = namesOf(await shard.leaseLevel(prefix, paged.at(-1) ?? "", size)).slice(0, size);
              if (page.length === 0) break;
              paged.push(...page);
            }
            expect(paged).toEqual(whole);
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  it("reads a page, or a level of folders, without reading what lies beside it", async () => {
    const shard = shardNamed("big");
    const { accessor, ...described } = tokenAt(1, "auth/token/create");
    await shard.relist([{ accessor, ...described }]);
    const numbers = Array.from({ length: 5000 }, (_, at) => at + 1);
    const paths = numbers.flatMap((i) => [
      { accessor: `acc${i}`, path: "auth/token/create" },
      { accessor: `orphan${i}`, path: "auth/token/create-orphan" },
      { accessor: `role${i}`, path: `auth/token/create/role${i % 3}` },
    ]);
    const entry = JSON.stringify(described);
    await insertRows(
      shard,
      "inventory",
      paths.map((listed) => ({ ...listed, ends: 0, entry })),
    );
    const middle: LeasePosition = { part: "own", path: "auth/token/create", id: "acc3" };
    const inTheMiddle = await costOf(shard, () =>
      Promise.resolve(shard.leasesBelow("token", "auth/token/create/", middle, 100)),
    );
    expect(inTheMiddle.rowsRead).toBeLessThan(110);
    const across: LeasePosition = { part: "own", path: "auth/token/create", id: "y" };
    const past = await costOf(shard, () =>
      Promise.resolve(shard.leasesBelow("token", "auth/token/create/", across, 100)),
    );
    expect(past.rowsRead).toBeLessThan(110);
    expect(await shard.countBelow("auth/token/create/", 20_000)).toBe(10_001);
    expect(await shard.countBelow("", 20_000)).toBe(15_001);
    const counted = await costOf(shard, () => Promise.resolve(shard.countBelow("auth/token/create/", 100)));
    expect(counted.rowsRead).toBeLessThan(110);
    const level = await costOf(shard, () => Promise.resolve(shard.leaseLevel("auth/token/", "", 100)));
    expect(level.rowsRead).toBeLessThan(20);
    expect((await shard.leaseLevel("auth/token/", "", 100)).folders).toEqual(["create-orphan/", "create/"]);
    const next = await costOf(shard, () => Promise.resolve(shard.leaseLevel("auth/token/", "create-orphan/", 100)));
    expect(next.rowsRead).toBeLessThan(20);
    const own = await costOf(shard, () => Promise.resolve(shard.leaseLevel("auth/token/create/", "hacc3", 10)));
    expect(own.rowsRead).toBeLessThan(40);
  });
});
