import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { err, type Failure, ok, type Result } from "../../../../../src/base/result.ts";
import { CallQueue } from "../../../../../src/methods/aws/clients/batched-lookups.ts";

const BUSY: Failure = { code: "unavailable", message: "busy", retryAfterSeconds: 5 };
const REFUSED: Failure = { code: "invalid_request", message: "no" };
const ITEMS = 20;
/** Everything that follows from what was just answered has happened. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const names = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `i-${from + at}`);

type Outcome = "found" | "busy" | "refused" | "gone";

/** A queue before a cloud whose calls the test ends, at a time that the test says. */
function fakeCloud() {
  const calls: { items: string[]; end: (outcome: Outcome) => Promise<void> }[] = [];
  const open = new Set<object>();
  const answers = new Map<number, Result<unknown>[]>();
  const clock = { now: 1_000_000 };
  const queue = new CallQueue<unknown>(ITEMS, () => clock.now);
  const fetch = (items: string[]): Promise<Result<Record<string, unknown>>> => {
    const gate = Promise.withResolvers<Result<Record<string, unknown>>>();
    const call = {
      items,
      end: async (outcome: Outcome) => {
        open.delete(call);
        if (outcome === "found") gate.resolve(ok(Object.fromEntries(items.map((item) => [item, `<${item}>`]))));
        else if (outcome === "gone") gate.reject(new Error("the client hung up"));
        else gate.resolve(err(outcome === "busy" ? BUSY : REFUSED));
        await settled();
      },
    };
    calls.push(call);
    open.add(call);
    return gate.promise;
  };
  let asked = 0;
  const ask = (item: string): number => {
    const id = asked++;
    answers.set(id, []);
    void queue.ask(item, fetch).then((result) => answers.get(id)?.push(result));
    return id;
  };
  return {
    calls,
    clock,
    ask,
    askAll: (items: string[]) => items.map(ask),
    /** The answer of an asker: of one who got two, or none, undefined. */
    answerOf: (id: number) => (answers.get(id)?.length === 1 ? answers.get(id)?.[0] : undefined),
    answerCounts: () => [...answers.values()].map((got) => got.length),
    openCalls: () => calls.filter((call) => open.has(call)),
  };
}

const sizes = (calls: readonly { items: string[] }[]) => calls.map(({ items }) => items.length);

describe("look-ups that share calls", () => {
  it("wait for the call that is under way until there are enough of them for a full one", () => {
    const cloud = fakeCloud();
    cloud.askAll(names(ITEMS));
    expect(sizes(cloud.calls)).toEqual([1]);
    cloud.ask("i-20");
    expect(sizes(cloud.calls)).toEqual([1, 20]);
  });

  it("are in four calls at once at most, and each gets its own answer", async () => {
    const cloud = fakeCloud();
    const items = names(200);
    const ids = cloud.askAll(items);
    expect(sizes(cloud.calls)).toEqual([1, 20, 20, 20]);
    for (let call = cloud.openCalls()[0]; call; call = cloud.openCalls()[0]) {
      expect(cloud.openCalls().length).toBeLessThanOrEqual(4);
      await call.end("found");
    }
    expect(sizes(cloud.calls)).toEqual([1, ...Array.from({ length: 9 }, () => 20), 19]);
    expect(ids.map(cloud.answerOf)).toEqual(items.map((item) => ok(`<${item}>`)));
  });

  it("count an item once, however many ask for it", async () => {
    const cloud = fakeCloud();
    const ids = cloud.askAll([...names(1), ...names(19, 1), ...names(19, 1), ...names(20)]);
    expect(sizes(cloud.calls)).toEqual([1]);
    await cloud.openCalls()[0]?.end("found");
    await cloud.openCalls()[0]?.end("found");
    expect(sizes(cloud.calls)).toEqual([1, 19]);
    expect(ids.every((id) => cloud.answerOf(id)?.ok)).toBe(true);
  });

  it("share a refusal for overload while they wait; what is in other calls waits for those", async () => {
    const cloud = fakeCloud();
    const ids = cloud.askAll(names(90));
    await cloud.openCalls()[1]?.end("busy");
    const refused = ids.filter((id) => cloud.answerOf(id) !== undefined);
    expect(refused).toHaveLength(20 + 29);
    expect(refused.map(cloud.answerOf)).toEqual(refused.map(() => err(BUSY)));
    expect(sizes(cloud.openCalls())).toEqual([1, 20, 20]);
  });

  it("get one call at a time after a refusal for overload, and one more after each answer", async () => {
    const cloud = fakeCloud();
    cloud.ask("first");
    await cloud.openCalls()[0]?.end("busy");
    cloud.askAll(names(400));
    for (const underWay of [1, 2, 3, 4, 4]) {
      expect(cloud.openCalls()).toHaveLength(underWay);
      await cloud.openCalls()[0]?.end("found");
    }
  });

  it("get no further call for an answer to a call from before the refusal", async () => {
    const cloud = fakeCloud();
    cloud.askAll(names(61));
    await cloud.openCalls()[0]?.end("busy");
    cloud.askAll(names(100, 100));
    for (const left of [2, 1]) {
      await cloud.openCalls()[0]?.end("found");
      expect(cloud.openCalls()).toHaveLength(left);
    }
    await cloud.openCalls()[0]?.end("found");
    expect(sizes(cloud.openCalls())).toEqual([20]);
  });

  it("keep one call at a time when the calls are refused again", async () => {
    const cloud = fakeCloud();
    for (let round = 0; round < 3; round++) {
      cloud.askAll(names(100, round * 100));
      expect(cloud.openCalls()).toHaveLength(round === 0 ? 4 : 1);
      while (cloud.openCalls().length > 0) await cloud.openCalls()[0]?.end("busy");
    }
  });

  it("get as many calls as ever a minute after the last refusal", async () => {
    const cloud = fakeCloud();
    cloud.ask("first");
    await cloud.openCalls()[0]?.end("busy");
    cloud.clock.now += 59_999;
    cloud.askAll(names(100));
    expect(cloud.openCalls()).toHaveLength(1);
    cloud.clock.now += 1;
    cloud.ask("last");
    expect(cloud.openCalls()).toHaveLength(4);
  });

  it("are not slowed down by a refusal that is not about overload", async () => {
    const cloud = fakeCloud();
    const ids = cloud.askAll(names(61));
    await cloud.openCalls()[1]?.end("refused");
    expect(ids.filter((id) => cloud.answerOf(id)?.ok === false)).toHaveLength(20);
    cloud.askAll(names(20, 100));
    expect(cloud.openCalls()).toHaveLength(4);
  });

  it("of others continue when a client disconnects in the middle of a call", async () => {
    const cloud = fakeCloud();
    const ids = cloud.askAll(names(61));
    await cloud.openCalls()[2]?.end("gone");
    expect(cloud.openCalls().at(-1)?.items).toEqual(names(20, 21));
    while (cloud.openCalls().length > 0) await cloud.openCalls()[0]?.end("found");
    expect(ids.filter((id) => cloud.answerOf(id)?.ok === false)).toEqual([21]);
    cloud.askAll(names(100, 1000));
    expect(cloud.openCalls()).toHaveLength(4);
  });

  it("are made by the last request when all earlier ones have disconnected", async () => {
    const cloud = fakeCloud();
    const [a] = cloud.askAll(["i-a"]);
    const again = cloud.ask("i-a");
    await cloud.openCalls()[0]?.end("gone");
    await cloud.openCalls()[0]?.end("found");
    expect([a, again].map((id) => cloud.answerOf(id ?? -1)?.ok)).toEqual([false, true]);
  });

  it("are asked by a client that joined an earlier item of the call, when all others have disconnected", async () => {
    const cloud = fakeCloud();
    cloud.askAll(["i-first", "i-a", "i-b"]);
    await cloud.openCalls()[0]?.end("found");
    await cloud.openCalls()[0]?.end("gone");
    const joined = cloud.ask("i-a");
    await cloud.openCalls()[0]?.end("gone");
    await cloud.openCalls()[0]?.end("found");
    expect(cloud.answerOf(joined)?.ok).toBe(true);
  });

  it("give null for what the call does not give, whatever its name is", async () => {
    const queue = new CallQueue<unknown>(ITEMS, () => 0);
    expect(await queue.ask("constructor", async () => ok({}))).toEqual(ok(null));
  });

  it("keep every rule in random histories", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("ask" as const), item: fc.nat(150), count: fc.integer({ min: 1, max: 60 }) }),
      fc.record({
        kind: fc.constant("end" as const),
        which: fc.nat(3),
        outcome: fc.constantFrom<Outcome>("found", "found", "busy", "refused", "gone"),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const cloud = fakeCloud();
        const asked = new Map<number, string>();
        let allowed = 4;
        const end = async (which: number, outcome: Outcome) => {
          const calls = cloud.openCalls();
          const before = cloud.calls.length;
          await calls[which % calls.length]?.end(outcome);
          if (calls.length > 0 && outcome === "busy") {
            allowed = 1;
            expect(cloud.calls.length).toBe(before);
          } else if (calls.length > 0 && outcome !== "gone") allowed = Math.min(4, allowed + 1);
        };
        for (const one of steps) {
          const before = cloud.calls.length;
          const open = cloud.openCalls().length;
          if (one.kind === "ask") for (const item of names(one.count, one.item)) asked.set(cloud.ask(item), item);
          else await end(one.which, one.outcome);
          if (one.kind === "ask" && cloud.calls.length > before) {
            expect(cloud.openCalls().length).toBeLessThanOrEqual(Math.max(allowed, open));
          }
          expect(cloud.openCalls().length).toBeLessThanOrEqual(4);
          const inCalls = cloud.openCalls().flatMap(({ items }) => items);
          expect(new Set(inCalls).size).toBe(inCalls.length);
        }
        while (cloud.openCalls().length > 0) await end(0, "found");
        expect(cloud.answerCounts().every((count) => count === 1)).toBe(true);
        for (const [id, item] of asked) {
          const answer = cloud.answerOf(id);
          if (answer?.ok) expect(answer.value).toBe(`<${item}>`);
        }
      }),
      { numRuns: 300 },
    );
  });
});
