import type { Failure } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasPlace, EntityState, SaidOfAlias } from "./model.ts";
import type { Holder } from "./shard/alias-index.ts";
import { homeOf, shardAt } from "./shard/stub.ts";

/** How often a name is followed that operators lead elsewhere meanwhile. */
export const MAX_ATTEMPTS = 5;

/** The refusal of a login or a write that met an alias which is being changed, too often. */
export const ALIAS_IN_MOTION: Failure = {
  code: "unavailable",
  message: "the alias is being changed; try again",
  retryAfterSeconds: 1,
};

/**
 * The entity that has an alias, made with it when none has. One call, or two when the entity is not in the shard that the name of
 * the alias leads to. A pointer to an entity that does not have the alias, or is gone, was left behind by a crash.
 *
 * @param newId for a new entity, of that shard.
 * @param now ms.
 */
export async function entityOfAlias(
  env: IdentityEnv,
  place: AliasPlace,
  said: SaidOfAlias,
  newId: string,
  now: number,
): Promise<Result<EntityState, Failure>> {
  let instead: Holder | null = null;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const found = await shardAt(env, place).logIn(place, said, newId, instead, now);
    if (!found.ok) return found;
    if ("state" in found.value) return ok(found.value.state);
    const { holder } = found.value;
    const there = await homeOf(env, holder.entityId)?.logInto(holder.entityId, place, said.metadata, now);
    if (there && !there.ok) return there;
    if (there?.value) return ok(there.value);
    instead = holder;
  }
  return err(ALIAS_IN_MOTION);
}
