import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type AuditBatch, type AuditEntry, MAX_BATCH_ENTRIES } from "../../../src/audit/entry.ts";
import { MAX_WAITING } from "../../../src/audit/writer/backlog.ts";
import { MAX_IN_FULL } from "../../../src/audit/writer/refusal-bound.ts";
import {
  AuditWriter,
  DEFERRED_MS,
  GATHER_MS,
  LATE_MS,
  MAX_HELD_MS,
  MAX_NOTE_MS,
  type Unstored,
} from "../../../src/audit/writer/writer.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  vi.spyOn(console, "error").mockReturnValue();
});
afterEach(() => {
  // First the spies: one that is restored later would put the fake setTimeout back, for all files of the thread.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function entry(line: string): AuditEntry {
  return { at: Date.now(), line, mentions: [] };
}

type Behaviour = "stored" | "refused" | "lost" | "hangs" | "cancelled";

/** Shards that store what they are told to, as real ones do: a repeated batch once. */
class Shards {
  behaviour: (shard: number) => Behaviour = () => "stored";
  /** Time that an append takes. */
  takesMs = 1;
  readonly calls: { readonly shard: number; readonly batch: AuditBatch }[] = [];
  readonly stored: string[][];
  readonly #taken = new Set<string>();

  constructor(count: number) {
    this.stored = Array.from({ length: count }, () => []);
  }

  readonly append = async (shard: number, batch: AuditBatch): Promise<void> => {
    this.calls.push({ shard, batch });
    const behaviour = this.behaviour(shard);
    await new Promise((resolve) => setTimeout(resolve, this.takesMs));
    if (behaviour === "refused") throw new Error("overloaded");
    const key = `${shard} ${batch.number}`;
    if (!this.#taken.has(key)) this.stored[shard]?.push(...batch.entries.map(({ line }) => line));
    this.#taken.add(key);
    if (behaviour === "lost") throw new Error("Network connection lost.");
    if (behaviour !== "stored") await new Promise(() => {});
  };

  get all(): Set<string> {
    return new Set(this.stored.flat());
  }
}

function writerOf(shards: Shards, notes: Unstored[] = [], note = async () => {}): AuditWriter {
  const background: Promise<unknown>[] = [];
  const platform = {
    append: shards.append,
    note: async (unstored: Unstored) => {
      notes.push(unstored);
      await note();
    },
    inBackground: (work: Promise<unknown>) => void background.push(work),
  };
  const more = () => entry("more refusals");
  return new AuditWriter("writer", { shards: shards.stored.length, ...platform }, more);
}

/** Whether a promise is settled now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => {
    settled = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  return settled;
}

describe("the writer", () => {
  it("answers when the record is stored, and sends together what came meanwhile", async () => {
    const shards = new Shards(1);
    const writer = writerOf(shards);
    const first = writer.store(entry("1"));
    const others = ["2", "3", "4"].map((line) => writer.store(entry(line)));
    await vi.advanceTimersByTimeAsync(shards.takesMs);
    expect(await isSettled(first)).toBe(true);
    expect(await isSettled(Promise.any(others))).toBe(false);
    await vi.advanceTimersByTimeAsync(shards.takesMs);
    await Promise.all(others);
    expect(shards.calls.map(({ batch }) => batch.entries.map(({ line }) => line))).toEqual([["1"], ["2", "3", "4"]]);
  });

  it("gives an append that fails, or is late, to the next shard at once", async () => {
    const shards = new Shards(4);
    const writer = writerOf(shards);
    shards.behaviour = (shard) => (shard === 0 ? "refused" : shard === 1 ? "hangs" : "stored");
    const stored = writer.store(entry("1"));
    await vi.advanceTimersByTimeAsync(LATE_MS + 3 * shards.takesMs);
    expect(await isSettled(stored)).toBe(true);
    expect(shards.calls.map(({ shard }) => shard)).toEqual([0, 1, 2]);
    expect(new Set(shards.calls.map(({ batch }) => batch.number)).size).toBe(1);
    await Promise.race([writer.store(entry("2")), vi.advanceTimersByTimeAsync(shards.takesMs)]);
    expect(shards.calls.at(-1)?.shard).toBe(2);
  });

  it("holds up no answer while no shard takes anything, and stores everything when one does", async () => {
    const shards = new Shards(1);
    const writer = writerOf(shards);
    shards.behaviour = () => "refused";
    const first = writer.store(entry("1"));
    await vi.advanceTimersByTimeAsync(10);
    expect(await isSettled(first)).toBe(true);
    for (let at = 2; at <= 2000; at++) {
      expect(await isSettled(writer.store(entry(`${at}`)))).toBe(true);
      await vi.advanceTimersByTimeAsync(100);
    }
    // It tries again with pauses of up to a minute.
    expect(shards.calls.length).toBeLessThan(20);
    shards.behaviour = () => "stored";
    await vi.advanceTimersByTimeAsync(60_000);
    await writer.store(entry("2001"));
    await vi.advanceTimersByTimeAsync(100);
    expect(shards.stored[0]).toEqual(Array.from({ length: 2001 }, (_, at) => `${at + 1}`));
    expect(writer.waiting).toBe(0);
    const next = writer.store(entry("2002"));
    expect(await isSettled(next)).toBe(false);
    await vi.advanceTimersByTimeAsync(GATHER_MS + shards.takesMs);
    expect(await isSettled(next)).toBe(true);
  });

  it("lets no answer wait longer than the bound, whatever shards do", async () => {
    const shards = new Shards(4);
    const writer = writerOf(shards);
    shards.behaviour = () => "hangs";
    const waits = writer.store(entry("1"));
    await vi.advanceTimersByTimeAsync(MAX_HELD_MS + LATE_MS);
    expect(await isSettled(waits)).toBe(true);
  });

  it("holds no answer any more after four shards that hang, however many there are", async () => {
    const shards = new Shards(16);
    const writer = writerOf(shards);
    shards.behaviour = () => "hangs";
    void writer.store(entry("1"));
    await vi.advanceTimersByTimeAsync(MAX_HELD_MS);
    void writer.store(entry("2"));
    await vi.advanceTimersByTimeAsync(4 * LATE_MS - MAX_HELD_MS);
    expect(await isSettled(writer.store(entry("3")))).toBe(true);
    expect(new Set(shards.calls.map(({ shard }) => shard)).size).toBe(4);
    // Later the next one is asked.
    shards.behaviour = (shard) => (shard < 4 ? "hangs" : "stored");
    await vi.advanceTimersByTimeAsync(10_000);
    void writer.store(entry("4"));
    await vi.advanceTimersByTimeAsync(GATHER_MS + shards.takesMs);
    expect(shards.stored[4]).toEqual(["1", "2", "3", "4"]);
  });

  it("repeats an append whose request was cancelled", async () => {
    const shards = new Shards(1);
    const writer = writerOf(shards);
    // Nothing of a cancelled request goes on, so its timers don't either.
    shards.behaviour = () => "cancelled";
    vi.spyOn(globalThis, "setTimeout").mockImplementationOnce(() => 0 as never);
    writer.store(entry("1"));
    shards.behaviour = () => "stored";
    const second = writer.store(entry("2"));
    await vi.advanceTimersByTimeAsync(LATE_MS + 2 * shards.takesMs);
    expect(await isSettled(second)).toBe(true);
    expect(shards.stored[0]).toEqual(["1", "2"]);
  });

  it("sends uses and refusals within the bound, without an answer that waits", async () => {
    const shards = new Shards(1);
    const writer = writerOf(shards);
    writer.countUse("a", "192.0.2.1");
    writer.countUse("a", "192.0.2.1");
    writer.storeLater(entry("refusal"));
    await vi.advanceTimersByTimeAsync(DEFERRED_MS - 1);
    expect(shards.calls).toEqual([]);
    await vi.advanceTimersByTimeAsync(1 + shards.takesMs);
    expect(shards.calls).toHaveLength(1);
    expect(shards.calls[0]?.batch.uses).toMatchObject([{ accessor: "a", count: 2 }]);
    expect(shards.stored[0]).toEqual(["refusal"]);
  });

  it("settles what came before a question, however much comes meanwhile", async () => {
    const shards = new Shards(1);
    const writer = writerOf(shards);
    // Each append meets new work, so the writer never has nothing to do.
    shards.behaviour = () => {
      writer.storeLater(entry("meanwhile"));
      writer.countUse(`${shards.calls.length}`, "");
      return "stored";
    };
    const first = writer.store(entry("1"));
    writer.storeLater(entry("2"));
    writer.countUse("a", "192.0.2.1");
    const settled = writer.settle();
    await vi.advanceTimersByTimeAsync(3 * shards.takesMs);
    expect(await isSettled(settled)).toBe(true);
    expect(await isSettled(first)).toBe(true);
    expect([...shards.all]).toEqual(expect.arrayContaining(["1", "2"]));
    expect(shards.calls.flatMap(({ batch }) => batch.uses.map(({ accessor }) => accessor))).toContain("a");
    expect(await isSettled(writer.settle())).toBe(false);
  });

  it("settles uses that came while an append was under way", async () => {
    const shards = new Shards(1);
    const writer = writerOf(shards);
    const first = writer.store(entry("1"));
    writer.countUse("a", "192.0.2.1");
    const settled = writer.settle();
    await vi.advanceTimersByTimeAsync(shards.takesMs);
    expect([await isSettled(first), await isSettled(settled)]).toEqual([true, false]);
    await vi.advanceTimersByTimeAsync(shards.takesMs);
    expect(await isSettled(settled)).toBe(true);
    expect(shards.calls.map(({ batch }) => batch.uses.length)).toEqual([0, 1]);
  });

  it("settles at once when nothing waits, and reports dropped records too", async () => {
    const shards = new Shards(1);
    const writer = writerOf(shards);
    expect(await isSettled(writer.settle())).toBe(true);
    expect(shards.calls).toEqual([]);
    for (let at = 0; at <= MAX_WAITING; at++) writer.storeLater(entry(`${at}`));
    const settled = writer.settle();
    await vi.advanceTimersByTimeAsync((MAX_WAITING / MAX_BATCH_ENTRIES + 2) * shards.takesMs + GATHER_MS);
    expect(await isSettled(settled)).toBe(true);
    expect(shards.stored[0]).toHaveLength(MAX_WAITING + 1);
  });

  it("settles for a bounded time while the shards hang, or refuse", async () => {
    const hanging = new Shards(8);
    hanging.behaviour = () => "hangs";
    const waiting = writerOf(hanging);
    waiting.storeLater(entry("1"));
    const settled = waiting.settle();
    await vi.advanceTimersByTimeAsync(MAX_HELD_MS + LATE_MS);
    expect(await isSettled(settled)).toBe(true);
    const refusing = new Shards(4);
    refusing.behaviour = () => "refused";
    const refused = writerOf(refusing);
    refused.storeLater(entry("1"));
    const given = refused.settle();
    await vi.advanceTimersByTimeAsync(4 * refusing.takesMs);
    expect(await isSettled(given)).toBe(true);
    expect(refusing.calls).toHaveLength(4);
  });

  it("counts refusals beyond the bound, and stores the count in the next hour", async () => {
    const shards = new Shards(1);
    const writer = writerOf(shards);
    while (writer.admitsRefusal("", "192.0.2.1"));
    await vi.advanceTimersByTimeAsync(3_600_000);
    await Promise.all([writer.store(entry("1")), vi.advanceTimersByTimeAsync(shards.takesMs)]);
    expect(shards.stored[0]).toEqual(["1", "more refusals"]);
  });

  it("stores all that was answered while a shard worked, whatever happened", async () => {
    const behaviours = fc.array(fc.constantFrom<Behaviour>("stored", "stored", "refused", "lost", "hangs"));
    const step = fc.record({ records: fc.integer({ min: 0, max: 5 }), afterMs: fc.constantFrom(0, 0, 1, 700, 3_000) });
    const histories = fc.array(step, { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(histories, behaviours, fc.constantFrom(1, 2, 4), async (history, fates, count) => {
        const shards = new Shards(count);
        const left = [...fates];
        shards.behaviour = () => left.shift() ?? "stored";
        const writer = writerOf(shards);
        let made = 0;
        let answered = 0;
        for (const { records, afterMs } of history) {
          for (let at = 0; at < records; at++) writer.store(entry(`${made++}`)).then(() => answered++);
          await vi.advanceTimersByTimeAsync(afterMs);
        }
        await vi.advanceTimersByTimeAsync(MAX_HELD_MS + LATE_MS);
        expect(answered).toBe(made);
        left.length = 0;
        for (let round = 0; round < 3; round++) {
          writer.storeLater(entry(`end ${round}`));
          await vi.advanceTimersByTimeAsync(60_000 + DEFERRED_MS);
        }
        expect(writer.waiting).toBe(0);
        for (let at = 0; at < made; at++) expect(shards.all).toContain(`${at}`);
        // In each shard in the order in which they came.
        for (const stored of shards.stored) {
          const numbers = stored.filter((line) => !line.startsWith("end")).map(Number);
          expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe("records of changes at the same time", () => {
  const linesOf = (shards: Shards) => shards.calls.map(({ batch }) => batch.entries.map(({ line }) => line));

  it("are gathered by the next append", async () => {
    const shards = new Shards(1);
    const writer = writerOf(shards);
    const stored = ["a", "b", "c"].map((line) => writer.store(entry(line)));
    await vi.advanceTimersByTimeAsync(2 * shards.takesMs);
    stored.push(writer.store(entry("d")));
    await vi.advanceTimersByTimeAsync(GATHER_MS - 1);
    stored.push(writer.store(entry("e")));
    await vi.advanceTimersByTimeAsync(100);
    await Promise.all(stored);
    expect(linesOf(shards)).toEqual([["a"], ["b", "c"], ["d", "e"]]);
    // The next one gathers again, and the one after it does not.
    for (const line of ["f", "g"]) {
      const one = writer.store(entry(line));
      await vi.advanceTimersByTimeAsync(shards.takesMs + (line === "f" ? GATHER_MS : 0));
      await one;
    }
    expect(linesOf(shards).slice(3)).toEqual([["f"], ["g"]]);
  });

  it("of one client after the other wait for nothing", async () => {
    const shards = new Shards(1);
    const writer = writerOf(shards);
    for (const line of ["a", "b"]) {
      const stored = writer.store(entry(line));
      await vi.advanceTimersByTimeAsync(shards.takesMs);
      await stored;
    }
    expect(shards.calls).toHaveLength(2);
  });
});

it("refusals without a caller are bounded by the network of the client, others by the token", () => {
  const writer = writerOf(new Shards(1));
  const admitted = (tokenOf: (at: number) => string, addressOf: (at: number) => string) =>
    Array.from({ length: 2 * MAX_IN_FULL }, (_, at) => writer.admitsRefusal(tokenOf(at), addressOf(at))).filter(Boolean)
      .length;
  expect(
    admitted(
      () => "",
      (at) => `2001:db8::${at}`,
    ),
  ).toBe(MAX_IN_FULL);
  expect(
    admitted(
      () => "a",
      (at) => `192.0.2.${at}`,
    ),
  ).toBe(MAX_IN_FULL);
  expect(
    admitted(
      (at) => `t${at}`,
      () => "192.0.2.1",
    ),
  ).toBe(2 * MAX_IN_FULL);
});

describe("changes that are answered without being stored", () => {
  const outage = async (writer: AuditWriter, count: number) => {
    for (let at = 0; at < count; at++) {
      const stored = writer.store(entry(`${at}`));
      await vi.advanceTimersByTimeAsync(10);
      expect(await isSettled(stored)).toBe(true);
    }
  };

  it("are noted before the answer: rarely, again with each try, and no more when they are stored", async () => {
    const shards = new Shards(1);
    const notes: Unstored[] = [];
    const writer = writerOf(shards, notes);
    await outage(writer, 1);
    expect([notes, writer.unstoredSince]).toEqual([[], null]);
    shards.behaviour = () => "refused";
    const since = Date.now();
    await outage(writer, 100);
    expect(notes.every((note) => note.most === 100 && note.since - since < 1_000)).toBe(true);
    const renewed = notes.length;
    await outage(writer, 1);
    expect(notes[renewed]).toEqual({ since: writer.unstoredSince, most: 202 });
    await vi.advanceTimersByTimeAsync(60_000);
    await outage(writer, 1);
    expect(notes.length).toBeGreaterThan(renewed + 1);
    expect(notes.length).toBeLessThan(20);
    shards.behaviour = () => "stored";
    await vi.advanceTimersByTimeAsync(60_000);
    await Promise.all([writer.store(entry("last")), vi.advanceTimersByTimeAsync(1_000)]);
    expect([notes.at(-1)?.most, writer.unstoredSince]).toEqual([0, null]);
  });

  it("wait for the note, but not for long", async () => {
    const shards = new Shards(1);
    shards.behaviour = () => "refused";
    const writer = writerOf(shards, [], () => new Promise(() => {}));
    const stored = writer.store(entry("1"));
    await vi.advanceTimersByTimeAsync(10);
    expect(await isSettled(stored)).toBe(false);
    await vi.advanceTimersByTimeAsync(MAX_NOTE_MS);
    expect(await isSettled(stored)).toBe(true);
  });
});
