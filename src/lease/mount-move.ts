import type { Failure } from "../base/errors.ts";
import { inGroups } from "../base/parallel.ts";
import { ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { systemOf } from "../system/system.ts";
import { ACCESSOR_SHARDS, accessorShard } from "../tree/index/accessor-shard.ts";
import type { LeavingMount } from "./walk-job.ts";

/** A mount that goes to another place. */
export type MovingMount = LeavingMount & Required<Pick<LeavingMount, "move">>;

/** True for a mount that moves; false for one that is being disabled. */
export function isMoving(mount: LeavingMount): mount is MovingMount {
  return mount.move !== undefined;
}

/**
 * Takes a mount that moves out of service: it serves nothing any more, and nothing that it issues is listed. Safe to repeat.
 *
 * @returns a refusal of the system, which decides in one place about all moves and removals of mounts.
 */
export async function takeOutOfService(env: Env, { path, move }: MovingMount): Promise<Result<null, Failure>> {
  const issuer = await systemOf(env).beginMove(move.id, path, move.to);
  if (!issuer.ok) return issuer;
  const { value } = issuer;
  if (value === null) return ok(null);
  const shards = Array.from({ length: ACCESSOR_SHARDS }, (_, shard) => shard);
  await inGroups(shards, (shard) => accessorShard(env, shard).closeMount(value));
  return ok(null);
}
