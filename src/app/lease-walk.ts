import type { Env } from "../env.ts";
import { LeaseScanJob } from "../lease/walk.ts";
import { AUTH_METHODS } from "../methods/registry.ts";

/** The job over the leases below a prefix. At its end it erases the storage of the removed auth mounts. */
export class LeaseWalk extends LeaseScanJob {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, async (mount) => AUTH_METHODS.get(mount.type)?.erase(env, mount));
  }
}
