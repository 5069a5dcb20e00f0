import { objectNamed } from "../base/object-stub.ts";
import type { AuditEnv } from "./env.ts";

/** An object of the store. Shards are counted from 0, the objects of a shard from 1. */
export interface ObjectName {
  readonly shard: number;
  readonly number: number;
}

const NAME = /^(0|[1-9]\d{0,2})\/([1-9]\d{0,6})$/;

export function nameOfObject({ shard, number }: ObjectName): string {
  return `${shard}/${number}`;
}

/** Reads the name of an object; null when no object has it. */
export function readObjectName(name: string): ObjectName | null {
  const [, shard, number] = NAME.exec(name) ?? [];
  return shard === undefined || number === undefined ? null : { shard: Number(shard), number: Number(number) };
}

/** How an object of the store is called in a cluster. */
const SHARD_RULES = {
  repeated: ["append", "query", "uses", "standing", "archivePage", "verifyBegin", "verifyStep"],
} as const;

/** The object with this name, see `nameOfObject`. */
export function auditShardAt(env: AuditEnv, name: string) {
  return objectNamed(env, env.AUDIT_SHARD, name, SHARD_RULES);
}

/** How the directory is called in a cluster. */
const DIRECTORY_RULES = {
  repeated: ["stored", "find", "newest", "entries", "checkList", "signedHeads", "oldestTerm"],
} as const;

/** The directory of all objects. */
export function auditDirectoryOf(env: AuditEnv) {
  return objectNamed(env, env.AUDIT_DIRECTORY, "directory", DIRECTORY_RULES);
}
