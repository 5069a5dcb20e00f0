import { describe, expect, it } from "vitest";
import { err, type Failure, ok, type Result } from "../../../../src/base/result.ts";
import type { VmInstance } from "../../../../src/methods/aws/answers/read-answers.ts";
import { bindings } from "../../../support/service.ts";

type Answer = Result<Record<string, VmInstance>>;

let objects = 0;
const lookups = () => bindings.CLOUD_LOOKUPS.getByName(`test ${++objects}`);
const instance = (instanceId: string): VmInstance => ({
  instanceId,
  accountId: "111111111111",
  state: "running",
  imageId: null,
  subnetId: null,
  vpcId: null,
  instanceProfileArn: null,
  tags: new Map(),
});
const found = (items: string[]): Answer => ok(Object.fromEntries(items.map((item) => [item, instance(item)])));

/** A call that is under way until the test ends it, and the items of every call. */
function held() {
  const gate = Promise.withResolvers<Answer>();
  const calls: string[][] = [];
  const first = async (items: string[]): Promise<Answer> => {
    calls.push(items);
    return gate.promise;
  };
  const later = async (items: string[]): Promise<Answer> => {
    calls.push(items);
    return found(items);
  };
  return { calls, end: gate.resolve, first, later };
}

/** Calls that are all under way until the test ends each. */
function gated() {
  const open: (() => void)[] = [];
  const sizes: number[] = [];
  let most = 0;
  let oneBegan = Promise.withResolvers<void>();
  const fetch = async (items: string[]): Promise<Answer> => {
    const gate = Promise.withResolvers<Answer>();
    open.push(() => gate.resolve(found(items)));
    sizes.push(items.length);
    most = Math.max(most, open.length);
    oneBegan.resolve();
    oneBegan = Promise.withResolvers();
    return gate.promise;
  };
  /** Until `count` calls have begun in all. */
  const begun = async (count: number): Promise<void> => {
    while (sizes.length < count) await oneBegan.promise;
  };
  return { begun, endFirst: () => open.shift()?.(), fetch, most: () => most, sizes, underWay: () => open.length };
}

describe("look-ups of one account", () => {
  it("begin at once when none is under way", async () => {
    const object = lookups();
    expect(await object.ask("g", "a", 5, async (items) => found(items))).toEqual(ok(instance("a")));
    expect(await object.ask("g", "b", 5, async (items) => found(items))).toEqual(ok(instance("b")));
  });

  it("that arrive during a call go together with the next, or with one beside it when there are enough of them", async () => {
    const object = lookups();
    const { calls, end, first, later } = held();
    const answers = ["a", "b", "c", "d", "b"].map((item, at) => object.ask("g", item, 2, at === 0 ? first : later));
    // The object has seen them all when it answers a question that came after them.
    await object.ask("other", "x", 1, later);
    expect(calls).toContainEqual(["b", "c"]);
    end(found(["a"]));
    expect(await Promise.all(answers)).toEqual(["a", "b", "c", "d", "b"].map((item) => ok(instance(item))));
  });

  it("of a whole fleet are in at most four concurrent calls", async () => {
    const object = lookups();
    const { begun, endFirst, fetch, most, sizes, underWay } = gated();
    const expected = [1, ...Array.from({ length: 15 }, () => 20)];
    const items = Array.from({ length: 301 }, (_, at) => `i-${at}`);
    const answers = items.map((item) => object.ask("g", item, 20, fetch));
    await object.ask("other", "x", 1, async () => found(["x"]));
    expect(underWay()).toBe(4);
    for (let ended = 0; ended < expected.length; ended++) {
      const inAll = Math.min(ended + 4, expected.length);
      await begun(inAll);
      expect(underWay()).toBe(inAll - ended);
      endFirst();
    }
    expect(await Promise.all(answers)).toEqual(items.map((item) => ok(instance(item))));
    expect(sizes).toEqual(expected);
    expect(most()).toBe(4);
  });

  it("begin one at a time after a refusal, also when nobody asked for a while", async () => {
    const object = lookups();
    const busy: Failure = { code: "unavailable", message: "busy", retryAfterSeconds: 5 };
    await object.ask("g", "a", 2, async () => err(busy));
    const { calls, end, first, later } = held();
    const answers = ["a", "b", "c", "d", "e"].map((item, at) => object.ask("g", item, 2, at === 0 ? first : later));
    await object.ask("other", "x", 1, later);
    expect(calls).toEqual([["a"], ["x"]]);
    end(found(["a"]));
    expect((await Promise.all(answers)).every((answer) => answer.ok)).toBe(true);
  });

  it("for the item that is being looked up share that call", async () => {
    const object = lookups();
    const { calls, end, first, later } = held();
    const answers = [object.ask("g", "a", 2, first), object.ask("g", "a", 2, later), object.ask("g", "a", 2, later)];
    await object.ask("other", "x", 1, later);
    end(found(["a"]));
    expect(await Promise.all(answers)).toEqual([ok(instance("a")), ok(instance("a")), ok(instance("a"))]);
    expect(calls).toEqual([["a"], ["x"]]);
  });

  it("get null for what was not found", async () => {
    expect(await lookups().ask("g", "a", 2, async () => found(["b"]))).toEqual(ok(null));
  });

  it("of other groups do not wait", async () => {
    const object = lookups();
    const { end, first, later } = held();
    const slow = object.ask("g", "a", 2, first);
    expect(await object.ask("h", "a", 2, later)).toEqual(ok(instance("a")));
    end(found(["a"]));
    await slow;
  });

  it("all fail when the cloud is overloaded, without a further call, and work again afterwards", async () => {
    const object = lookups();
    const { calls, end, first, later } = held();
    const busy: Failure = { code: "unavailable", message: "busy", retryAfterSeconds: 5 };
    const answers = ["a", "b", "c"].map((item, at) => object.ask("g", item, 3, at === 0 ? first : later));
    await object.ask("other", "x", 1, later);
    end(err(busy));
    expect(await Promise.all(answers)).toEqual([err(busy), err(busy), err(busy)]);
    expect(calls).toEqual([["a"], ["x"]]);
    expect(await object.ask("g", "d", 2, later)).toEqual(ok(instance("d")));
  });

  it("of others do not fail for a call that was refused", async () => {
    const object = lookups();
    const { end, first, later } = held();
    const refused: Failure = { code: "invalid_request", message: "no" };
    const answers = ["a", "b"].map((item, at) => object.ask("g", item, 1, at === 0 ? first : later));
    await object.ask("other", "x", 1, later);
    end(err(refused));
    expect(await Promise.all(answers)).toEqual([err(refused), ok(instance("b"))]);
  });

  it("are taken over when the request that makes the call disconnects", async () => {
    const object = lookups();
    const { end, first, later } = held();
    const gone = async (): Promise<Answer> => {
      throw new Error("the client hung up");
    };
    const answers = [object.ask("g", "a", 2, first), object.ask("g", "b", 2, gone), object.ask("g", "b", 2, later)];
    await object.ask("other", "x", 1, later);
    end(found(["a"]));
    const [a, left, b] = await Promise.all(answers);
    expect([a, b]).toEqual([ok(instance("a")), ok(instance("b"))]);
    expect(left).toMatchObject({ ok: false, error: { code: "unavailable" } });
  });

  it("of others do not fail because a client disconnected", async () => {
    const object = lookups();
    const gate = Promise.withResolvers<never>();
    const { later } = held();
    const answers = [object.ask("g", "a", 2, () => gate.promise), object.ask("g", "b", 2, later)];
    await object.ask("other", "x", 1, later);
    gate.reject(new Error("the client hung up"));
    const [left, b] = await Promise.all(answers);
    expect(left).toMatchObject({ ok: false, error: { code: "unavailable" } });
    expect(b).toEqual(ok(instance("b")));
  });

  it("end when all requests have gone away", async () => {
    const object = lookups();
    const gone = async (): Promise<Answer> => {
      throw new Error("the client hung up");
    };
    expect(await object.ask("g", "a", 2, gone)).toMatchObject({ ok: false, error: { code: "unavailable" } });
    expect(await object.ask("g", "a", 2, async (items) => found(items))).toEqual(ok(instance("a")));
  });

  it("are limited in number", async () => {
    const object = lookups();
    const { end, first, later } = held();
    const answers = [object.ask("g", "a", 2000, first)];
    for (let at = 0; at < 1001; at++) answers.push(object.ask("g", `b${at}`, 2000, later));
    expect(await answers[1001]).toMatchObject({ ok: false, error: { code: "unavailable" } });
    end(found(["a"]));
    expect((await Promise.all(answers)).filter((answer) => answer.ok)).toHaveLength(1001);
  });
});
