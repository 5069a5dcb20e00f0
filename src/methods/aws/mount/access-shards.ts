import { within } from "../../../base/location.ts";
import { ACCESS_SHARDS, accessShardName, accessShardOf } from "../../../system/access-shards.ts";
import type { Mount } from "../../../system/mount.ts";
import type { AwsEnv } from "../env.ts";
import type { CloudAccessList, ShardPlace } from "./access-list.ts";

/** A shard: its object, and the place that is passed to it. */
export interface AccessShard {
  readonly list: DurableObjectStub<CloudAccessList>;
  readonly place: ShardPlace;
}

/** The shard that remembers the logins of an instance at a mount. */
export function accessShardFor(env: AwsEnv, mount: Pick<Mount, "uuid">, instanceId: string): AccessShard {
  return shardAt(env, mount.uuid, accessShardOf(instanceId));
}

/** All shards of a mount. */
export function accessShardsOf(env: AwsEnv, mount: Pick<Mount, "uuid">): AccessShard[] {
  return Array.from({ length: ACCESS_SHARDS }, (_, shard) => shardAt(env, mount.uuid, shard));
}

function shardAt(env: AwsEnv, mount: string, shard: number): AccessShard {
  return { list: within(env, env.CLOUD_ACCESS_LIST).getByName(accessShardName(mount, shard)), place: { mount, shard } };
}
