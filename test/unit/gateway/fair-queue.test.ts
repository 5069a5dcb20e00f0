import { describe, expect, it } from "vitest";
import { Shares } from "../../../gateway/client-shares.ts";
import { Deadline } from "../../../gateway/deadline.ts";
import { FairQueue } from "../../../gateway/fair-queue.ts";

/** A queue for places of which none is free; a test gives back one after the other. */
function usedUp(): FairQueue {
  const turns = new FairQueue(new Shares(20, 100));
  while (turns.take([]));
  return turns;
}

describe("turns", () => {
  const LIMIT_MS = 600_000;
  const LIMITS = { turnMs: 1000, burstMs: LIMIT_MS };

  /** Requests of clients that wait, in the order in which they came; `ended` gets the number and the outcome of each. */
  function waiting(clients: string) {
    const turns = usedUp();
    const ended: [number, boolean][] = [];
    const deadlines = [...clients].map((client, number) => {
      const deadline = new Deadline();
      void turns.wait([client], deadline, LIMITS, 0).then((isTurn) => ended.push([number, isTurn]));
      return deadline;
    });
    const letGo = async (count: number): Promise<void> => {
      for (let left = count; left > 0; left--) turns.giveBack([], 0);
      await Promise.resolve();
    };
    return { turns, deadlines, ended, letGo };
  }

  it("are those of one client after the other, whatever each has waiting", async () => {
    const { ended, letGo } = waiting("aaabc");
    await letGo(4);
    expect(ended.map(([number]) => number)).toEqual([0, 3, 4, 1]);
  });

  it("are next those of a client that did not wait yet, before all that have many requests waiting", async () => {
    const { turns, ended, letGo } = waiting("aaaabbbb");
    await letGo(2);
    void turns.wait(["c"], new Deadline(), LIMITS, 0).then(() => ended.push([8, true]));
    await letGo(2);
    expect(ended.map(([number]) => number)).toEqual([0, 4, 8, 1]);
    // It has had its turn: its next request does not come before those of the others.
    void turns.wait(["c"], new Deadline(), LIMITS, 0).then(() => ended.push([9, true]));
    await letGo(2);
    expect(ended.map(([number]) => number).slice(4)).toEqual([5, 9]);
  });

  it("go to no request after they were cleared", async () => {
    const { turns, ended, letGo } = waiting("ab");
    turns.clear();
    await letGo(2);
    expect(ended).toEqual([]);
  });

  it("are over for a request that has waited for too long, and the others keep theirs", async () => {
    const { deadlines, ended, letGo } = waiting("aab");
    const late = performance.now() + LIMIT_MS;
    deadlines[0]?.look(late - 60_000);
    await letGo(0);
    expect(ended).toEqual([]);
    deadlines[0]?.look(late + 60_000);
    deadlines[2]?.look(late + 60_000);
    await letGo(2);
    expect(ended).toEqual([
      [0, false],
      [2, false],
      [1, true],
    ]);
    // One whose turn has come is not refused later.
    deadlines[1]?.look(late + 60_000);
    await letGo(1);
    expect(ended).toHaveLength(3);
  });

  describe("of a client that asks for more than can be done", () => {
    const SHORT = { turnMs: 1000, burstMs: 10_000 };

    /** Requests of one client, each begun at a time (ms) that the test gives. */
    function queue() {
      const turns = usedUp();
      const refused: number[] = [];
      return {
        refused,
        /** Begins a request; `after` has its deadline looked at so many ms later. */
        ask(at: number) {
          const deadline = new Deadline();
          void turns.wait(["a"], deadline, SHORT, at).then((isTurn) => isTurn || refused.push(at));
          const asked = performance.now();
          return {
            after: async (ms: number): Promise<void> => {
              deadline.look(asked + ms);
              await Promise.resolve();
            },
          };
        },
        serve(at: number): void {
          turns.giveBack([], at);
        },
      };
    }

    it("are waited for as long as a burst may last", async () => {
      const { ask, refused } = queue();
      ask(0);
      const second = ask(9000);
      await second.after(9500);
      expect(refused).toEqual([]);
      await second.after(10_500);
      expect(refused).toEqual([9000]);
    });

    it("are waited for briefly when all its turns came late for longer than that", async () => {
      const { ask, serve, refused } = queue();
      ask(0);
      ask(5000);
      serve(8000);
      const third = ask(10_001);
      await third.after(500);
      expect(refused).toEqual([]);
      await third.after(1500);
      expect(refused).toEqual([10_001]);
    });

    it("are waited for as in a burst while others still wait, when one of them came promptly", async () => {
      const { ask, serve, refused } = queue();
      ask(0);
      ask(9900);
      ask(9950);
      serve(9960);
      serve(10_000);
      await ask(12_000).after(5000);
      expect(refused).toEqual([]);
    });

    it("are waited for again after one that came promptly, and after nothing was waiting", async () => {
      const { ask, serve, refused } = queue();
      ask(0);
      ask(9900);
      serve(9950);
      serve(10_000);
      ask(10_100);
      serve(10_200);
      ask(10_300);
      await ask(19_000).after(5000);
      expect(refused).toEqual([]);
      for (const at of [20_000, 20_001]) serve(at);
      serve(20_002);
      ask(50_000);
      await ask(55_000).after(5000);
      expect(refused).toEqual([]);
    });
  });
});
