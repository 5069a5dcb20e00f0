import { runInDurableObject } from "cloudflare:test";
import { accessorShard, accessorShardNumber, shardNumbers } from "../../src/listing/accessor-shards.ts";
import type { InventoryEntry } from "../../src/listing/inventory/entry.ts";
import { publishRecent } from "../../src/listing/updates/publish.ts";
import type { TidyReport } from "../../src/tidy/report.ts";
import { ShardTidy, shardTidy } from "../../src/tidy/shard-tidy.ts";
import { Tidy, tidyOf } from "../../src/tidy/tidy.ts";
import { holdAlarmsOf, ringAlarm } from "./calls.ts";
import { bindings } from "./service.ts";
import { insertRows } from "./storage-writer.ts";

/** Keeps the coordinator and the checks of the shards from working by themselves until the test ends. `beforeEach(holdTidy)` */
export function holdTidy(): void {
  holdAlarmsOf(Tidy, ShardTidy);
}

/** Has the hourly run begin and come to its end, without the checks of the shards that it begins. Returns what it did. */
export async function hourlyTidy(): Promise<TidyReport> {
  await tidyOf(bindings).startHourly();
  let status: ReturnType<Tidy["status"]>;
  do status = await tidyAlarm();
  while (status.running);
  const { last } = status;
  if (!last) throw new Error("there was no run");
  return last.report;
}

/** Does what one alarm of the check of a shard does. */
export async function shardTidyAlarm(shard: number): Promise<void> {
  await ringAlarm(shardTidy(bindings, shard));
}

/** Has each of `shards` checked once. */
export async function checkShards(shards = shardNumbers()): Promise<void> {
  for (const shard of shards) {
    const before = await lastCheck(shard);
    for (let step = 0; (await lastCheck(shard)) === before; step++) {
      if (step === 500) throw new Error("the check does not end");
      await shardTidyAlarm(shard);
    }
  }
}

/** The number of the last check of a shard. */
async function lastCheck(shard: number): Promise<number> {
  return runInDurableObject(shardTidy(bindings, shard), (_, { storage: { sql } }) => {
    const { state } = sql.exec<{ state: string }>("SELECT state FROM progress").one();
    return (JSON.parse(state) as { lastNumber: number }).lastNumber;
  });
}

/** Does what one alarm of the coordinator does, and returns how far the run is then. */
export async function tidyAlarm(): Promise<ReturnType<Tidy["status"]>> {
  await ringAlarm(tidyOf(bindings));
  return tidyOf(bindings).status();
}

/** Runs tidy to its end, with `between` after each alarm, and returns what it did. */
export async function tidyNow(between: (report: TidyReport) => Promise<void> = async () => {}): Promise<TidyReport> {
  await listsKnowAll();
  const tidy = tidyOf(bindings);
  if (!(await tidy.start())) throw new Error("a run is in progress");
  for (let round = 0; round < 500; round++) {
    const { running, last } = await tidyAlarm();
    const run = running ?? last;
    if (!run) throw new Error("there is no run");
    await between(run.report);
    if (!running) return run.report;
  }
  throw new Error("the run does not end");
}

/** Every accessor of the list, sorted. */
export async function listedAccessors(): Promise<string[]> {
  await listsKnowAll();
  const shards = shardNumbers().map((number) => accessorShard(bindings, number));
  const lists = await Promise.all(shards.map((shard) => shard.list("", 100_000)));
  return lists.flat().sort();
}

/** Has trees send their pending updates now. */
export async function listsKnowAll(): Promise<void> {
  await publishRecent(bindings, Date.now());
}

/** Takes tokens off the list. */
export async function unlist(accessors: readonly string[]): Promise<void> {
  await listsKnowAll();
  for (const [number, group] of Map.groupBy(accessors, accessorShardNumber)) {
    await accessorShard(bindings, number).remove(group);
  }
}

/** Puts a row on the list of the shard of `accessor` that names no token at all. */
export async function listNonsense(accessor: string): Promise<void> {
  const list = accessorShard(bindings, accessorShardNumber(accessor));
  await insertRows(list, "inventory", [{ accessor: "not an accessor", path: "", ends: 1, entry: "{}" }]);
}

/** Lists tokens, as their creation would have done. */
export async function listAgain(entries: readonly InventoryEntry[]): Promise<void> {
  for (const [number, of] of Map.groupBy(entries, ({ accessor }) => accessorShardNumber(accessor))) {
    await accessorShard(bindings, number).applyUpdates({ made: of, changed: [], sizes: [], started: [] });
  }
}
