import { describe, expect, it } from "vitest";
import { CLUSTER, NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { repeated } from "../../../src/base/lost-call-retry.ts";
import { ObjectMoves } from "../../../src/base/object-moves.ts";
import { isLostCall } from "../../../src/base/platform-errors.ts";

const LOST = Object.assign(new Error("Network connection lost."), { retryable: true });
const REFUSED = Object.assign(new Error("Durable Object is overloaded. Too many requests queued."), {
  overloaded: true,
  retryable: true,
});

/** Calls that fail `times` times. */
function failing(error: Error, times: number) {
  const calls: boolean[] = [];
  const pauses: number[] = [];
  return {
    calls,
    pauses,
    call: async (again: boolean) => {
      calls.push(again);
      if (calls.length <= times) throw error;
      return "answer";
    },
    wait: async (ms: number) => void pauses.push(ms),
  };
}

describe("a call in a cluster", () => {
  it("is repeated at once, and then after longer and longer pauses", async () => {
    const { call, wait, calls, pauses } = failing(LOST, 3);
    expect(await repeated(CLUSTER, call, wait)).toBe("answer");
    expect(calls).toEqual([false, true, true, true]);
    expect(pauses).toEqual([0, 50, 100]);
  });

  it("is given up after a moment", async () => {
    const { call, wait, calls, pauses } = failing(LOST, 100);
    const error: unknown = await repeated(CLUSTER, call, wait).catch((thrown: unknown) => thrown);
    expect(isLostCall(error)).toBe(true);
    expect(calls).toHaveLength(7);
    expect(pauses.reduce((sum, ms) => sum + ms)).toBeLessThan(2_000);
  });

  it("is repeated as a first call after the refusal of a leaving node, and for longer", async () => {
    const moves = new ObjectMoves();
    const leaving = new ObjectMoves();
    leaving.leave();
    const seen: boolean[] = [];
    const pauses: number[] = [];
    const call = async (again: boolean) => {
      seen.push(again);
      try {
        if (seen.length > 2) throw LOST;
        leaving.accept();
      } catch (error) {
        moves.noteLostCall(error, Date.now());
        throw error;
      }
    };
    const outcome = repeated({ moves }, call, async (ms) => void pauses.push(ms));
    await expect(outcome).rejects.toThrow("Network connection lost, repeatedly");
    expect(seen).toEqual([false, false, false, ...Array<boolean>(7).fill(true)]);
    const waited = pauses.reduce((sum, ms) => sum + ms);
    expect([waited > 3_500, waited < 4_500]).toEqual([true, true]);
  });

  it("may have been carried out before a leaving node refuses it", async () => {
    const leaving = new ObjectMoves();
    leaving.leave();
    const seen: boolean[] = [];
    const call = async (again: boolean) => {
      seen.push(again);
      if (seen.length === 1) throw LOST;
      if (seen.length === 2) leaving.accept();
    };
    await repeated(CLUSTER, call, async () => {});
    expect(seen).toEqual([false, true, true]);
  });

  it("is not repeated when an object behind the called one has repeated it in vain", async () => {
    const behind = failing(LOST, 100);
    let calls = 0;
    const call = () => {
      calls++;
      return repeated(CLUSTER, behind.call, behind.wait);
    };
    await expect(repeated(CLUSTER, call, behind.wait)).rejects.toThrow("Network connection lost, repeatedly");
    expect([calls, behind.calls.length]).toEqual([1, 7]);
  });

  it.each([
    ["an overloaded object", REFUSED],
    ["an error of the object", new Error("no such table")],
  ])("is not repeated for %s", async (_, error) => {
    const { call, wait, calls } = failing(error, 1);
    await expect(repeated(CLUSTER, call, wait)).rejects.toBe(error);
    expect(calls).toHaveLength(1);
  });
});

describe("a call elsewhere", () => {
  it.each([
    ["Cloudflare's network", NETWORK],
    ["one process", ONE_PROCESS],
  ])("is never repeated: %s", async (_, deployment) => {
    const { call, wait, calls } = failing(LOST, 1);
    await expect(repeated(deployment, call, wait)).rejects.toBe(LOST);
    expect(calls).toHaveLength(1);
  });
});

describe("a lost call", () => {
  it("is told from a refused one, and by its text when another object has passed the error on", () => {
    expect(isLostCall(LOST)).toBe(true);
    expect(isLostCall(new Error("Network connection lost."))).toBe(true);
    expect(isLostCall(new Error("cluster: team-1: takeover failed: epoch superseded"))).toBe(true);
    expect(isLostCall(new Error("team-1: epoch 7 was superseded before it opened"))).toBe(true);
    expect(isLostCall(REFUSED)).toBe(false);
    expect(isLostCall("Network connection lost.")).toBe(false);
  });
});
