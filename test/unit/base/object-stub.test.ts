import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CLUSTER, NETWORK } from "../../../src/app/deployments.ts";
import { ObjectMoves } from "../../../src/base/object-moves.ts";
import { stubWith } from "../../../src/base/object-stub.ts";
import { isLostCall } from "../../../src/base/platform-errors.ts";

const LOST = new Error("Network connection lost.");
const MISSING = new TypeError('The RPC receiver does not implement the method "ping".');

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** An object whose first `lost` calls of anything are lost. */
function objectLosing(lost: number) {
  const calls: string[] = [];
  const happens = async (name: string) => {
    calls.push(name);
    if (calls.length <= lost) throw LOST;
    return name;
  };
  const stub = {
    id: "an id",
    read: () => happens("read"),
    write: () => happens("write"),
    run: () => happens("run"),
    ping: () => happens("ping"),
  };
  return { calls, stub };
}

/** A cluster in which no call was lost before. */
const cluster = () => ({ ...CLUSTER, moves: new ObjectMoves() });

const RULES = { repeated: ["read"], byCaller: ["run"] } as const;

/** The outcome of a call, after all the time that it takes. */
async function outcomeOf<T>(call: Promise<T>): Promise<T | Error> {
  const settled = call.catch((error: Error) => error);
  await vi.runAllTimersAsync();
  return settled;
}

describe("a stub in a cluster", () => {
  it("repeats a lost read, and looks the object up each time", async () => {
    const { calls, stub } = objectLosing(3);
    const find = vi.fn(() => stub);
    expect(await outcomeOf(stubWith({ deployment: cluster() }, RULES, find).read())).toBe("read");
    expect(calls).toEqual(["read", "read", "read", "read"]);
    // Once for the stub itself.
    expect(find).toHaveBeenCalledTimes(5);
  });

  it("makes a change once, when the object has answered a ping, which is repeated", async () => {
    const { calls, stub } = objectLosing(3);
    expect(await outcomeOf(stubWith({ deployment: cluster() }, RULES, () => stub).write())).toBe("write");
    expect(calls).toEqual(["ping", "ping", "ping", "ping", "write"]);
  });

  it("does not repeat a change that was lost: it may have been made", async () => {
    const { stub } = objectLosing(0);
    const write = vi.fn(() => Promise.reject(LOST));
    const lost = stubWith({ deployment: cluster() }, RULES, () => ({ ...stub, write }));
    expect(await outcomeOf(lost.write())).toBe(LOST);
    expect(write).toHaveBeenCalledTimes(1);
  });

  it("leaves to its callers what they repeat themselves", async () => {
    const { calls, stub } = objectLosing(1);
    expect(await outcomeOf(stubWith({ deployment: cluster() }, RULES, () => stub).run())).toBe(LOST);
    expect(calls).toEqual(["run"]);
  });

  it("takes an object of a release without pings for one that has answered", async () => {
    const { calls, stub } = objectLosing(0);
    const earlier = { ...stub, ping: () => Promise.reject(MISSING) };
    expect(await outcomeOf(stubWith({ deployment: cluster() }, RULES, () => earlier).write())).toBe("write");
    expect(calls).toEqual(["write"]);
  });

  it("is still the stub of its object, and no promise", async () => {
    const stub = stubWith({ deployment: cluster() }, RULES, () => objectLosing(0).stub);
    expect(stub.id).toBe("an id");
    expect(await stub).toBe(stub);
  });
});

describe("an object that falls silent", () => {
  const silent = () => new Promise<string>(() => {});

  it.each(["read", "write", "run"] as const)("has a call of %s given up after ten seconds, once", async (name) => {
    const { stub } = objectLosing(0);
    const call = vi.fn(silent);
    const gone = stubWith({ deployment: cluster() }, RULES, () => ({ ...stub, [name]: call, ping: silent }));
    const began = Date.now();
    const outcome = await outcomeOf(gone[name]());
    expect(isLostCall(outcome)).toBe(true);
    expect(Date.now() - began).toBe(10_000);
    expect(call).toHaveBeenCalledTimes(name === "write" ? 0 : 1);
  });

  it("is told from one that works for long, whose call is not cut", async () => {
    const { stub } = objectLosing(0);
    const read = async () => {
      await new Promise((resolve) => setTimeout(resolve, 120_000));
      return "at last";
    };
    const busy = stubWith({ deployment: cluster() }, RULES, () => ({ ...stub, read }));
    expect(await outcomeOf(busy.read())).toBe("at last");
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a stub elsewhere", () => {
  it("is that of the platform", () => {
    const { stub } = objectLosing(0);
    expect(stubWith({ deployment: NETWORK }, RULES, () => stub)).toBe(stub);
  });
});
