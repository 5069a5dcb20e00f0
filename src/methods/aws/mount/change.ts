import { type AtMount, mountOf } from "../../../auth/mount-of.ts";
import type { Env } from "../../../env.ts";
import type { Mount } from "../../../system/mount.ts";
import { systemOf } from "../../../system/system.ts";
import type { CloudAuth } from "./cloud-auth.ts";
import { forgetCopies } from "./copies.ts";
import { cloudAuthAt } from "./mount.ts";

/**
 * Makes a change of what isolates keep copies of, and announces it before it is answered: it holds here at once, and elsewhere
 * within POLICY_CACHE_SECONDS. After a crash in between it holds elsewhere within a minute; the change was not acknowledged then.
 */
export async function changeConfiguration<T>(
  context: AtMount & { readonly env: Env },
  change: (auth: DurableObjectStub<CloudAuth>) => Promise<T>,
): Promise<T> {
  return changeConfigurationAt(context.env, mountOf(context), change);
}

/** The same for a mount. */
export async function changeConfigurationAt<T>(
  env: Env,
  mount: Pick<Mount, "uuid">,
  change: (auth: DurableObjectStub<CloudAuth>) => Promise<T>,
): Promise<T> {
  const auth = cloudAuthAt(env, mount);
  try {
    return await change(auth);
  } finally {
    // Also when the change failed: the object may have made it before its answer was lost.
    forgetCopies();
    await systemOf(env).announceMethodState(mount.uuid, await auth.configurationState());
  }
}
