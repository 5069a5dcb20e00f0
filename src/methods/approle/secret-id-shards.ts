import { objectNamed } from "../../base/object-stub.ts";
import { toBase64Url } from "../../crypto/bytes.ts";
import { type Keys, keyedHash } from "../../crypto/key-ring.ts";
import type { Mount } from "../../system/mount.ts";
import type { AppRoleEnv } from "./env.ts";
import type { AppRole } from "./role.ts";

/**
 * Number of shards of the secret-ids of one mount: one for each hex digit. The first digit of an accessor is the number
 * of its shard, so that the shards in order give the accessors in order. Never change it.
 */
export const SECRET_ID_SHARDS = 16;

const UTF_8 = new TextEncoder();
/** The form of accessors: a UUID of the version 4 whose first digit is not random. */
const ACCESSOR = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The place of a secret-id: the number of its shard, and its keyed hash, by which the shard stores it. */
interface SecretIdPlace {
  readonly shard: number;
  readonly hash: string;
}

/** Returns the place of a secret-id of a role. The hash covers mount and role, so equal texts of two roles differ. */
export async function placeOfSecretId(
  keys: Keys,
  { uuid }: Pick<Mount, "uuid">,
  { id }: Pick<AppRole, "id">,
  secretId: string,
): Promise<SecretIdPlace> {
  const hash = await keyedHash(keys.identity, UTF_8.encode(`approle secret-id\0${uuid}\0${id}\0${secretId}`));
  return { shard: (hash[0] ?? 0) % SECRET_ID_SHARDS, hash: toBase64Url(hash) };
}

/** Returns a new accessor of a secret-id in a shard. */
export function newAccessor(shard: number): string {
  return shard.toString(16) + crypto.randomUUID().slice(1);
}

/** Returns the number of the shard of an accessor; null for a text that is none. */
export function shardOfAccessor(accessor: string): number | null {
  return ACCESSOR.test(accessor) ? Number.parseInt(accessor.slice(0, 1), 16) : null;
}

/** Returns the number of the first shard that can have accessors after `after`. */
export function firstShardAfter(after: string): number {
  const [first = "0"] = after;
  if (first < "0") return 0;
  const digit = "0123456789abcdef".indexOf(first);
  if (digit >= 0) return digit;
  // Any other text is before the letters, or after them all.
  return first < "a" ? 10 : SECRET_ID_SHARDS;
}

/** The names of all shards of a mount. */
export function secretIdShardNames(uuid: string): string[] {
  return Array.from({ length: SECRET_ID_SHARDS }, (_, shard) => `${uuid} ${shard}`);
}

/** How a shard is called in a cluster. */
const RULES = {
  repeated: ["parentOf", "find", "findOfRoles", "findByAccessor", "list", "search"],
  byCaller: ["register", "use"],
} as const;

/** Returns the shard of a mount with this number. */
export function secretIdShardAt(env: AppRoleEnv, { uuid }: Pick<Mount, "uuid">, shard: number) {
  return objectNamed(env, env.APP_ROLE_SECRET_IDS, `${uuid} ${shard}`, RULES);
}

/** Returns all shards of a mount, in their order. */
export function secretIdShardsOf(env: AppRoleEnv, mount: Pick<Mount, "uuid">) {
  return Array.from({ length: SECRET_ID_SHARDS }, (_, shard) => secretIdShardAt(env, mount, shard));
}
