import { describe, expect, it } from "vitest";
import { parseUsage, usageOf } from "../../../bench/servers/usage.ts";

describe("what a process uses", () => {
  it("is read past a name that holds anything", () => {
    const stat =
      "42 (work) erd) S 1 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 3 0 900 1000 200 18446744073709551615";
    expect(parseUsage(stat, "Name:\tworkerd\nVmRSS:\t  2048 kB\n")).toEqual({ cpuSeconds: 2, memoryMiB: 2 });
  });

  it("is zero for a process that is not there", () => {
    expect(usageOf(2 ** 30)).toEqual({ cpuSeconds: 0, memoryMiB: 0 });
  });
});
