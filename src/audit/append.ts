import type { AuditBatch } from "./entry.ts";
import type { AuditEnv } from "./env.ts";
import { auditDirectoryOf, auditShardAt, nameOfObject, readObjectName } from "./object-name.ts";

/** Maximum number of full objects that an append skips. The directory knows all but the last of them. */
const MAX_FULL = 8;

/** Returns a function that appends a batch to a shard: to its newest object, or to the next when that is full. */
export function appender(env: AuditEnv): (shard: number, batch: AuditBatch) => Promise<void> {
  /** Numbers of the newest objects, by shard. */
  const newest = new Map<number, number>();
  return async (shard, batch) => {
    for (let full = 0; full < MAX_FULL; full++) {
      const number = newest.get(shard) ?? (await newestObject(env, shard));
      const name = nameOfObject({ shard, number });
      const answer = await auditShardAt(env, name).append(name, batch);
      newest.set(shard, answer === "full" ? number + 1 : number);
      if (answer === "stored") return;
    }
    throw new Error("the objects of the shard are full");
  };
}

/** Number of the object of a shard that takes records, as far as the directory knows. */
async function newestObject(env: AuditEnv, shard: number): Promise<number> {
  const last = await auditDirectoryOf(env).newest(shard);
  const number = last ? (readObjectName(last.name)?.number ?? 0) : 0;
  return last?.state === "open" ? number : number + 1;
}
