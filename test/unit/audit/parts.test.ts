import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { RowText, rowGroups, storedLine, textOfRow } from "../../../src/audit/batch-text.ts";
import type { AuditEntry } from "../../../src/audit/entry.ts";
import { nameOfObject, type ObjectName, readObjectName } from "../../../src/audit/object-name.ts";
import { expiredObjects, keptBytes, keptMs, openBytes, openMs } from "../../../src/audit/retention.ts";

const anEntry: fc.Arbitrary<AuditEntry> = fc.record({
  at: fc.nat(),
  line: fc.oneof(fc.json(), fc.string({ unit: "grapheme" })),
  mentions: fc.array(fc.string({ unit: "grapheme" }), { maxLength: 4 }),
});

describe("the text of a row", () => {
  it("has every record as it came, but for line breaks", () => {
    fc.assert(
      fc.property(fc.array(anEntry, { minLength: 1, maxLength: 20 }), (entries) => {
        const text = new RowText(textOfRow(entries));
        const stored = entries.map((entry) => ({ ...entry, line: storedLine(entry) }));
        expect(entries.map((_, place) => text.entry(place))).toEqual(stored);
        expect(text.lines()).toEqual(stored.map(({ line }) => line));
        expect(() => text.entry(entries.length)).toThrow();
      }),
    );
  });

  it("is bounded, unless one record is longer", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 70_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(sizes, (lengths) => {
        const entries = lengths.map((length, at) => ({ at, line: "x".repeat(length), mentions: [] }));
        const groups = rowGroups(entries);
        expect(groups.flat()).toEqual(entries);
        const isBounded = (group: AuditEntry[]) =>
          group.length === 1 || group.reduce((sum, { line }) => sum + line.length, 0) <= 65_536;
        expect(groups.every((group) => group.length > 0 && isBounded(group))).toBe(true);
      }),
    );
  });
});

it("the name of an object has one spelling", () => {
  const name: ObjectName = { shard: 3, number: 12 };
  expect(readObjectName(nameOfObject(name))).toEqual(name);
  for (const wrong of ["", "1", "01/1", "1/0", "1/01", "1/1 ", "-1/1", "1/1/1"])
    expect(readObjectName(wrong)).toBeNull();
});

describe("what is kept", () => {
  const kept = (days?: string, megabytes?: string, deployment = NETWORK) => {
    const settings = { deployment, ...(days && { AUDIT_DAYS: days }), ...(megabytes && { AUDIT_MAX_MB: megabytes }) };
    return [keptMs(settings) / 86_400_000, keptBytes(settings), openMs(settings) / 86_400_000, openBytes(settings)];
  };

  it("is as set, and an object has an eighth of it", () => {
    expect(kept()).toEqual([30, 5e9, 3.75, 39_062_500]);
    expect(kept("80", "100", ONE_PROCESS)).toEqual([80, 1e8, 10, 12_500_000]);
    expect(kept("2", "1")).toEqual([2, 1e6, 1, 1e6]);
    expect(kept("365", "1000000")).toEqual([365, 1e12, 45.625, 1e9]);
  });

  it("is the default where a setting is none", () => {
    for (const wrong of ["0", "-1", "NaN", "soon", "1e99"]) expect(kept(wrong, wrong)).toEqual(kept());
  });
});

describe("objects whose records are deleted", () => {
  const MB = 1e6;
  const now = 100 * 86_400_000;
  const object = (name: string, state: "open" | "closed" | "archived", days: number, megabytes: number) => {
    return { name, state, last_at: now - days * 86_400_000, bytes: megabytes * MB };
  };
  const expired = (stored: readonly ReturnType<typeof object>[], hasArchive = false) => {
    const settings = { deployment: NETWORK, AUDIT_DAYS: "30", AUDIT_MAX_MB: "10" };
    return expiredObjects(stored, settings, hasArchive, now).map(({ name }) => name);
  };

  it("are closed ones, too old or beyond the size, and no more of them than that takes", () => {
    expect(expired([object("a", "closed", 31, 1), object("b", "closed", 29, 1), object("c", "open", 31, 1)])).toEqual([
      "a",
    ]);
    const large = [object("a", "closed", 3, 4), object("b", "closed", 2, 4), object("c", "closed", 1, 4)];
    expect(expired(large)).toEqual(["a"]);
    expect(expired([...large, object("d", "open", 0, 4)])).toEqual(["a", "b"]);
  });

  it("are archived first where there is an archive, unless the size is exceeded by far", () => {
    expect(expired([object("a", "closed", 31, 1), object("b", "archived", 30, 1)], true)).toEqual(["b"]);
    expect(expired([object("a", "closed", 3, 20), object("b", "open", 0, 0)], true)).toEqual([]);
    expect(expired([object("a", "closed", 3, 20), object("b", "open", 0, 1)], true)).toEqual(["a"]);
  });
});
