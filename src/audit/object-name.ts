import { within } from "../base/location.ts";
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

/** The object with this name, see `nameOfObject`. */
export function auditShardAt(env: AuditEnv, name: string) {
  return within(env, env.AUDIT_SHARD).getByName(name);
}

/** The directory of all objects. */
export function auditDirectoryOf(env: AuditEnv) {
  return within(env, env.AUDIT_DIRECTORY).getByName("directory");
}
