import { runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { Tidy, tidyOf } from "../../src/tidy/tidy.ts";
import { ACCESSOR_SHARDS, accessorShard, accessorShardNumber } from "../../src/tree/index/accessor-shard.ts";
import type { TidyReport } from "../../src/tree/tidy/report.ts";
import { bindings } from "./service.ts";

const alarm = Tidy.prototype.alarm;

/** Keeps the coordinator from working by itself until the test ends. `beforeEach(holdTidy)` */
export function holdTidy(): void {
  vi.spyOn(Tidy.prototype, "alarm").mockResolvedValue(undefined);
}

/** Does what one alarm of the coordinator does. */
export async function tidyAlarm(): Promise<void> {
  await runInDurableObject(tidyOf(bindings), (tidy) => alarm.call(tidy));
}

/** Runs tidy to its end, with `between` after each alarm, and returns what it did. */
export async function tidyNow(between: (report: TidyReport) => Promise<void> = async () => {}): Promise<TidyReport> {
  const tidy = tidyOf(bindings);
  if (!(await tidy.start())) throw new Error("a run is in progress");
  for (let round = 0; round < 500; round++) {
    await tidyAlarm();
    const { running, last } = await tidy.status();
    const run = running ?? last;
    if (!run) throw new Error("there is no run");
    await between(run.report);
    if (!running) return run.report;
  }
  throw new Error("the run does not end");
}

/** Every accessor of the list, sorted. */
export async function listedAccessors(): Promise<string[]> {
  const shards = Array.from({ length: ACCESSOR_SHARDS }, (_, number) => accessorShard(bindings, number));
  const lists = await Promise.all(shards.map((shard) => shard.list("", 100_000)));
  return lists.flat().sort();
}

/** Puts `accessors` on the list, or takes them off. */
export async function writeList(statement: "INSERT" | "DELETE", accessors: readonly string[]): Promise<void> {
  for (const [number, group] of Map.groupBy(accessors, accessorShardNumber)) {
    await runInDurableObject(accessorShard(bindings, number), (shard, { storage }) => {
      shard.list("", 1);
      for (const accessor of group) {
        if (statement === "INSERT") shard.add(accessor, "auth/token/create", null);
        else storage.sql.exec("DELETE FROM accessors WHERE accessor = ?", accessor);
      }
    });
  }
}
