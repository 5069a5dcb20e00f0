import type { Env } from "../env.ts";
import { LeaseScanJob } from "../lease/walk.ts";

/** The job over the leases below a prefix. At its end it erases the storage of the removed auth mounts. */
export class LeaseWalk extends LeaseScanJob {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, async (mount) => env.kinds.methods.get(mount.type)?.erase(env, mount));
  }
}
