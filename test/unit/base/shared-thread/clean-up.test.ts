import { describe, expect, it } from "vitest";
import { OWN_THREADS, SharedThread, type SweepPace } from "../../../../src/base/shared-thread.ts";

const TREES = Array.from({ length: 20 }, (_, at) => at);

/** Asks all trees. Returns the answers, and how many were asked at the same time at most. */
async function askAll(pace: SweepPace): Promise<{ answers: number[]; together: number }> {
  let underWay = 0;
  let together = 0;
  const answers = await pace.askApart(TREES, async (tree) => {
    together = Math.max(together, ++underWay);
    await Promise.resolve();
    underWay--;
    return tree * 2;
  });
  return { answers, together };
}

describe("trees that are asked apart", () => {
  const doubled = TREES.map((tree) => tree * 2);

  it("are asked one after the other where one thread serves everything", async () => {
    expect(await askAll(new SharedThread())).toEqual({ answers: doubled, together: 1 });
  });

  it("are asked as many at a time as the platform allows where each object has a thread", async () => {
    expect(await askAll(OWN_THREADS)).toEqual({ answers: doubled, together: 6 });
  });
});

describe("trees that are cleaned up", () => {
  it("are marked one at a time where one thread serves everything, and swept together", async () => {
    const most = { marking: 0, sweeping: 0 };
    const underWay = { marking: 0, sweeping: 0 };
    const during = async (kind: keyof typeof most): Promise<void> => {
      most[kind] = Math.max(most[kind], ++underWay[kind]);
      await new Promise((resolve) => setTimeout(resolve, 0));
      underWay[kind]--;
    };
    const marked = await new SharedThread().cleanUpTrees(TREES, {
      mark: async (tree) => {
        await during("marking");
        return tree * 2;
      },
      sweep: () => during("sweeping"),
    });
    expect(marked).toEqual(TREES.map((tree) => tree * 2));
    expect(most).toEqual({ marking: 1, sweeping: TREES.length });
  });
});
