import { currentTime } from "../base/clock.ts";
import { err, ok, type Result } from "../base/result.ts";
import { ALIAS_IS_CHANGING, MAX_ALIAS_ATTEMPTS } from "./alias-steps.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasMetadata, AliasPlace, EntityState } from "./model.ts";
import type { AliasOwner } from "./shard/alias-pointers.ts";
import { homeOf, shardAt } from "./stubs.ts";

/**
 * Returns the entity that has an alias, and creates it with the alias when there is none. `newId` is an id for a new
 * entity, in the shard that the name of the alias leads to. Takes one call, or two when the entity is not in that
 * shard. A pointer to an entity that does not have the alias, or was deleted, was left behind by a crash, and is
 * replaced.
 */
export async function entityOfAlias(
  env: IdentityEnv,
  place: AliasPlace,
  given: AliasMetadata,
  newId: string,
): Promise<Result<EntityState>> {
  const now = currentTime();
  let instead: AliasOwner | null = null;
  for (let attempt = 1; attempt <= MAX_ALIAS_ATTEMPTS; attempt++) {
    const found = await shardAt(env, place).logIn(place, given, newId, instead, now);
    if (!found.ok) return found;
    if ("state" in found.value) return ok(found.value.state);
    const { holder } = found.value;
    const there = await homeOf(env, holder.entityId)?.logInto(holder.entityId, place, given.metadata, now);
    if (there && !there.ok) return there;
    if (there?.value) return ok(there.value);
    instead = holder;
  }
  return err(ALIAS_IS_CHANGING);
}
