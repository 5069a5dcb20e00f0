import { type AtMount, mountOf } from "../../../auth/route.ts";
import { within } from "../../../base/location.ts";
import type { Env } from "../../../env.ts";
import { ACCESS_SHARDS, accessShardName, accessShardOf } from "../../../system/access-shards.ts";
import type { Mount } from "../../../system/mount.ts";
import { systemOf } from "../../../system/system.ts";
import { type CloudAccess, type CloudClient, openClient } from "../clients/client.ts";
import { DEFAULT_CLIENT } from "../clients/config.ts";
import type { AwsEnv } from "../env.ts";
import type { CloudMountType } from "../vocabulary.ts";
import type { CloudAuth } from "./cloud-auth.ts";
import { forgetCopies } from "./copies.ts";

/** The vocabulary of a mount. */
export function mountTypeOf(mount: Pick<Mount, "type">): CloudMountType {
  return mount.type === "aws" ? "aws" : "cloud";
}

/** The object of a mount. Its name is the uuid of the mount: a method mounted again at the same path begins empty. */
export function cloudAuthAt(env: AwsEnv, mount: Pick<Mount, "uuid">): DurableObjectStub<CloudAuth> {
  return within(env, env.CLOUD_AUTH).getByName(mount.uuid);
}

/** The object of a request's mount. */
export function cloudAuthOf(context: AtMount & { readonly env: AwsEnv }): DurableObjectStub<CloudAuth> {
  return cloudAuthAt(context.env, mountOf(context));
}

/** The client of a mount with its stored configuration. Requests of operators never use an isolate's copy of it. */
export async function operatorClient(access: CloudAccess): Promise<CloudClient> {
  const config = await cloudAuthAt(access.env, access.mount).readClient();
  return openClient(access, config ?? DEFAULT_CLIENT);
}

/**
 * Changes a configuration of which isolates keep copies, and announces the change before it is answered. It takes
 * effect here at once, and in other isolates within POLICY_CACHE_SECONDS. After a crash in between, the change is not
 * acknowledged and takes effect in other isolates within a minute.
 */
export async function changeConfiguration<T>(
  context: AtMount & { readonly env: Env },
  change: (auth: DurableObjectStub<CloudAuth>) => Promise<T>,
): Promise<T> {
  const auth = cloudAuthOf(context);
  try {
    return await change(auth);
  } finally {
    // Also after a failure: the object may have made the change before its answer was lost.
    forgetCopies();
    await systemOf(context.env).announceMethodState(mountOf(context).uuid, await auth.configurationState());
  }
}

/** The shard of a mount with the logins of an instance. */
export function accessShardFor(env: AwsEnv, mount: Pick<Mount, "uuid">, instanceId: string) {
  return shardAt(env, mount.uuid, accessShardOf(instanceId));
}

/** All shards of a mount. */
export function accessShardsOf(env: AwsEnv, mount: Pick<Mount, "uuid">) {
  return Array.from({ length: ACCESS_SHARDS }, (_, shard) => shardAt(env, mount.uuid, shard));
}

/** The object of a shard, and its place. */
function shardAt(env: AwsEnv, mount: string, shard: number) {
  return { list: within(env, env.CLOUD_ACCESS_LIST).getByName(accessShardName(mount, shard)), place: { mount, shard } };
}
