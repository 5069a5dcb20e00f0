import { describe, expect, it } from "vitest";
import { takeHour } from "../../../../scripts/serve/cluster/hourly-turn.ts";
import { startBucket } from "./support.ts";

describe("the work of an hour", () => {
  it("is taken by one node", async () => {
    const { bucket } = await startBucket();
    for (const hour of [500_000, 500_001]) {
      const taken = await Promise.all(Array.from({ length: 5 }, () => takeHour(bucket, hour)));
      expect(taken.filter((one) => one)).toHaveLength(1);
      expect(await takeHour(bucket, hour)).toBe(false);
    }
  });

  it("is not taken by a node whose clock is behind", async () => {
    const { bucket } = await startBucket();
    await takeHour(bucket, 500_001);
    expect(await takeHour(bucket, 500_000)).toBe(false);
  });

  it("is left out while the bucket does not answer", async () => {
    const { bucket, emulator } = await startBucket();
    emulator.fault = () => "cut";
    expect(await takeHour(bucket, 500_000)).toBe(false);
  });
});
