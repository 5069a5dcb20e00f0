import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AuditBatch, type AuditEntry, MAX_BATCH_CHARACTERS, MAX_BATCH_ENTRIES } from "../../../src/audit/entry.ts";
import { Backlog, MAX_WAITING, MAX_WAITING_BYTES } from "../../../src/audit/writer/backlog.ts";

const none = () => [];

function entry(line: string, at = 0): AuditEntry {
  return { at, line, mentions: [] };
}

/** The number of dropped records that a batch tells of. */
function toldOf({ entries }: AuditBatch): number {
  const told = entries.flatMap(({ line }) => (line.startsWith("{") ? [JSON.parse(line)] : []));
  return told.reduce((sum, { count }) => sum + count, 0);
}

type Step = { readonly add: number; readonly length: number } | "send" | "confirm" | "confirm again";

const steps = fc.array(
  fc.oneof(
    fc.record({ add: fc.integer({ min: 1, max: 1500 }), length: fc.constantFrom(4, 4, 900, 4000) }),
    fc.constantFrom<Step>("send", "confirm", "confirm", "confirm again"),
  ),
  { maxLength: 60 },
);

describe("the backlog", () => {
  it("loses nothing that it does not count, keeps the order and stays within its bounds", () => {
    fc.assert(
      fc.property(steps, (history) => {
        const backlog = new Backlog("writer");
        const stored: string[] = [];
        const kept: string[] = [];
        let added = 0;
        let dropped = 0;
        let told = 0;
        let last = 0;
        let batch: AuditBatch | null = null;
        let before: AuditBatch | null = null;
        const send = () => {
          const next = backlog.next(none, 0);
          // A batch stays what it is until it is confirmed.
          if (batch) expect(next).toBe(batch);
          const entries = next?.entries ?? [];
          expect(entries.length).toBeLessThanOrEqual(MAX_BATCH_ENTRIES);
          expect(entries.reduce((sum, { line }) => sum + line.length, 0)).toBeLessThanOrEqual(MAX_BATCH_CHARACTERS);
          batch = next;
        };
        const confirm = () => {
          if (!batch) return;
          const records = batch.entries.filter(({ line }) => !line.startsWith("{"));
          expect(backlog.confirm(batch)).toBe(records.length);
          stored.push(...records.map(({ line }) => line));
          told += toldOf(batch);
          before = batch;
          batch = null;
        };
        for (const step of history) {
          if (step === "send") send();
          else if (step === "confirm") confirm();
          else if (step === "confirm again") expect(before ? backlog.confirm(before) : 0).toBe(0);
          else {
            for (let count = 0; count < step.add; count++) {
              const line = `${added++}`.padEnd(step.length, ".");
              const ticket = backlog.add(entry(line));
              if (ticket === null) dropped++;
              else last = kept.push(line) - ticket;
            }
            expect(last).toBe(0);
          }
          expect(backlog.size).toBeLessThanOrEqual(MAX_WAITING);
          expect(stored.length + backlog.size).toBe(kept.length);
        }
        for (send(); batch; send()) confirm();
        expect(stored).toEqual(kept);
        expect(told).toBe(dropped);
        expect(backlog.isStored(kept.length)).toBe(true);
        expect(backlog.isStored(kept.length + 1)).toBe(false);
      }),
      { numRuns: 15 },
    );
  });

  it.each([
    ["x", 1],
    ["\u20ac", 2],
  ])("is bounded by the size of its records too: %s takes %d", (character, bytes) => {
    const backlog = new Backlog("writer");
    const line = character.repeat(16_384);
    let kept = 0;
    while (backlog.add(entry(line)) !== null) kept++;
    expect(kept).toBe(Math.floor(MAX_WAITING_BYTES / (bytes * line.length)));
    // What is stored takes no room.
    for (let batch = backlog.next(none, 0); batch; batch = backlog.next(none, 0)) backlog.confirm(batch);
    for (let count = 0; count < kept; count++) expect(backlog.add(entry(line))).not.toBeNull();
  });

  it("says how many it dropped, and when", () => {
    const backlog = new Backlog("writer");
    for (let at = 0; at < MAX_WAITING + 3; at++) backlog.add(entry("x", at));
    const told = backlog.next(none, 20_000)?.entries[0]?.line ?? "";
    expect(JSON.parse(told)).toEqual({
      type: "dropped",
      time: "1970-01-01T00:00:20.000Z",
      count: 3,
      from: "1970-01-01T00:00:10.000Z",
      to: "1970-01-01T00:00:10.002Z",
    });
  });

  it("sends uses without a record, and each of them once", () => {
    const backlog = new Backlog("writer");
    const use = { accessor: "a", address: "", hour: 0, count: 1, first: 0, last: 0 };
    let waiting = [use];
    const take = () => {
      const taken = waiting;
      waiting = [];
      return taken;
    };
    const batch = backlog.next(take, 0);
    expect(batch?.uses).toEqual([use]);
    expect(backlog.next(take, 0)).toBe(batch);
    expect(backlog.isConfirmed(1)).toBe(false);
    if (batch) backlog.confirm(batch);
    expect([backlog.isConfirmed(1), backlog.isConfirmed(2)]).toEqual([true, false]);
    expect([backlog.lastBatch(false), backlog.lastBatch(true)]).toEqual([1, 2]);
    expect(backlog.next(take, 0)).toBeNull();
  });
});
