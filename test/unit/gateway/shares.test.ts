import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Deadline } from "../../../gateway/deadline.ts";
import { Shares, Turns } from "../../../gateway/shares.ts";

/** Takes one after the other for a client until it gets no more; the number that it got. */
function takeAll(shares: Shares, key: string | null): number {
  let count = 0;
  while (shares.take(key, 1)) count++;
  return count;
}

describe("shares", () => {
  it("let a client take its percentage, and one without a key everything", () => {
    for (const [percent, most] of [
      [25, 250],
      [50, 500],
      [1, 10],
      [100, 1000],
    ] as const) {
      expect(takeAll(new Shares(1000, percent), "a")).toBe(most);
    }
    expect(takeAll(new Shares(1000, 25), null)).toBe(1000);
  });

  it("leave something for another client, however many take what they can get", () => {
    const shares = new Shares(512, 25);
    for (const client of ["a", "b", "c", "d"]) takeAll(shares, client);
    expect(512 - shares.used).toBe(162);
    for (const client of ["e", "f", "g", "h", "i", "j"]) takeAll(shares, client);
    expect(takeAll(shares, "late")).toBeGreaterThan(5);
  });

  it("are left by four clients to three sevenths once each takes what it may", () => {
    const shares = new Shares(700, 25);
    const clients = ["a", "b", "c", "d"];
    for (let round = 0; round < 700; round++) for (const client of clients) shares.take(client, 1);
    expect(shares.used).toBe(400);
  });

  it("say whether it is the client's share that is used up, or the whole", () => {
    const shares = new Shares(8, 50);
    expect(takeAll(shares, "a")).toBe(4);
    expect(shares.isWithinShare("a", 1)).toBe(false);
    expect(takeAll(shares, null)).toBe(4);
    expect([shares.isWithinShare("b", 1), shares.take("b", 1)]).toEqual([true, false]);
  });

  it("allow every client the least amount, whatever its percentage is", () => {
    const shares = new Shares(10, 1, 4);
    expect([shares.take("a", 4), shares.take("a", 1), shares.take("b", 4), shares.take("c", 4)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it("are all there again when everything is given back, and never more than there is", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("a", "b", null), fc.integer({ min: 1, max: 6 })));
    fc.assert(
      fc.property(steps, (wanted) => {
        const shares = new Shares(12, 50);
        const taken = wanted.filter(([key, amount]) => shares.take(key, amount));
        expect(shares.used).toBe(taken.reduce((sum, [, amount]) => sum + amount, 0));
        expect(shares.used).toBeLessThanOrEqual(12);
        for (const [key, amount] of taken) shares.giveBack(key, amount);
        expect([shares.used, shares.take("a", 6), shares.take(null, 6)]).toEqual([0, true, true]);
      }),
    );
  });
});

describe("turns", () => {
  const LIMIT_MS = 600_000;
  const LIMITS = { turnMs: 1000, burstMs: LIMIT_MS };

  /** Requests of clients that wait, in the order in which they came; `ended` gets the number and the outcome of each. */
  function waiting(clients: string) {
    const turns = new Turns();
    const ended: [number, boolean][] = [];
    const deadlines = [...clients].map((client, number) => {
      const deadline = new Deadline();
      void turns.wait(client, deadline, LIMITS, 0).then((isTurn) => ended.push([number, isTurn]));
      return deadline;
    });
    const letGo = async (count: number): Promise<void> => {
      let left = count;
      turns.goOn(() => left-- > 0, 0);
      await Promise.resolve();
    };
    return { deadlines, ended, letGo };
  }

  it("are those of one client after the other, whatever each has waiting", async () => {
    const { ended, letGo } = waiting("aaabc");
    await letGo(4);
    expect(ended.map(([number]) => number)).toEqual([0, 3, 4, 1]);
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
      const turns = new Turns();
      const refused: number[] = [];
      return {
        refused,
        /** Begins a request; `after` has its deadline looked at so many ms later. */
        ask(at: number) {
          const deadline = new Deadline();
          void turns.wait("a", deadline, SHORT, at).then((isTurn) => isTurn || refused.push(at));
          const asked = performance.now();
          return {
            after: async (ms: number): Promise<void> => {
              deadline.look(asked + ms);
              await Promise.resolve();
            },
          };
        },
        serve(at: number): void {
          let left = 1;
          turns.goOn(() => left-- > 0, at);
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
