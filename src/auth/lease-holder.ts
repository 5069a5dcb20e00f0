import { currentTime } from "../base/clock.ts";
import { err, invalid, ok, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { LeaseHolder } from "../lease/actions.ts";
import type { Installation } from "../system/installation.ts";
import { isBatchAlive } from "./caller.ts";
import { accessorTarget, tokenTarget } from "./named-token.ts";
import { readToken } from "./read-token.ts";

export const NO_LEASE_HOLDER = invalid("token not found");

/**
 * Finds the token that holds a new lease. A batch token is not stored, so its parent holds the lease, which ends with
 * either of the two. A batch token without a parent can't hold a lease.
 */
export async function findLeaseHolder(
  env: Env,
  installation: Installation,
  { token, accessor }: { readonly token: string; readonly accessor: string },
) {
  if (accessor !== "") {
    const found = await accessorTarget(installation.keys, accessor);
    return found ? ok(found) : err(NO_LEASE_HOLDER);
  }
  const presented = await readToken(env, installation, token);
  if (!presented) return err(NO_LEASE_HOLDER);
  if (presented.kind === "service") return ok(tokenTarget(presented));
  if (presented.kind === "registered") return refuse(`a ${presented.type} token cannot hold leases`);
  const batch = presented.token;
  if (!(await isBatchAlive(env, installation, batch, currentTime()))) return err(NO_LEASE_HOLDER);
  if (!batch.parent) return refuse("a batch token without a parent cannot hold leases: nothing would end them");
  const { treeId, row } = batch.parent;
  const target: LeaseHolder = { by: "batch", row, endsBy: batch.expiresAt };
  return ok({ treeId, target });
}
