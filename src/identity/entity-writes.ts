import { currentTime } from "../base/clock.ts";
import { attempted, changedOnce } from "../base/lost-call-retry.ts";
import { inGroups } from "../base/parallel.ts";
import { err, invalid, ok, type Result, refuse, unavailable } from "../base/result.ts";
import { releaseAlias } from "./alias-steps.ts";
import type { IdentityEnv } from "./env.ts";
import type { EntityWrite, IdOrName, Written } from "./model.ts";
import { newNameProblem } from "./name-and-metadata.ts";
import { findEntity } from "./read-entity.ts";
import { nameOfEntity, newEntityId, randomShard, shardOfEntity } from "./shard/sharding.ts";
import { askHomes, entityShard, homeOf, identityOf } from "./stubs.ts";

/** Maximum number of attempts to create an entity while other writes take its name. */
const MAX_ATTEMPTS = 5;

const NAME_IS_CHANGING = unavailable("the name is being changed; try again");
const ENTITY_NAME_TAKEN = invalid("entity name is already in use");
const ENTITY_NOT_FOUND = invalid("entity not found from id");

/**
 * Creates or changes an entity. With an id the entity must exist. Without one, the name selects an existing entity.
 * Messages are the reference's (identity/entity).
 *
 * The entity's shard (its home) stores the entity, the directory its name. A new entity is stored before it is named. A
 * name without an entity was therefore left behind by a deletion, and can be reused. For an existing entity the name is
 * decided before anything else is written, so that a refusal changes nothing.
 */
export async function writeEntity(
  env: IdentityEnv,
  id: string | null,
  write: EntityWrite,
  attempt = 1,
): Promise<Result<Written>> {
  const byId = id === null ? null : await findEntity(env, { id });
  if (id !== null && !byId) return err(ENTITY_NOT_FOUND);
  const byName = write.name === null ? null : await findEntity(env, { name: write.name });
  if (byId && byName && byName.id !== byId.id) return err(ENTITY_NAME_TAKEN);
  const entity = byId ?? byName;
  const problem = write.name === null || write.name === entity?.name ? null : newNameProblem("entity", write.name);
  if (problem) return refuse(problem);
  if (!entity) return createEntity(env, write, attempt);
  const name = write.name ?? entity.name;
  if (name !== entity.name && (await nameEntity(env, entity.id, name)) !== entity.id) return err(ENTITY_NAME_TAKEN);
  const { id: entityId } = entity;
  const now = currentTime();
  return changedOnce(env, async (call) => {
    const isWritten = await homeOf(env, entityId)?.writeEntity(entityId, write, now, call);
    return isWritten ? ok({ id: entityId, name, created: false }) : err(ENTITY_NOT_FOUND);
  });
}

async function createEntity(env: IdentityEnv, write: EntityWrite, attempt: number): Promise<Result<Written>> {
  const shard = randomShard();
  const id = newEntityId(shard);
  const now = currentTime();
  await attempted(env, async (call) => {
    const home = entityShard(env, shard);
    // An object of 1.0.0-rc.1 has no answer for an entity that an earlier attempt has made.
    if (!(call?.again && (await home.readEntity(id)))) await home.createEntity(id, write, now, call);
  });
  const { name } = write;
  if (name === null) return ok({ id, name: nameOfEntity(id), created: true });
  if ((await nameEntity(env, id, name)) === id) return ok({ id, name, created: true });
  // A concurrent write took the name, so this write is for the entity that has it now.
  await deleteEntities(env, [{ id }]);
  return attempt < MAX_ATTEMPTS ? writeEntity(env, null, write, attempt + 1) : err(NAME_IS_CHANGING);
}

/** Gives an entity a name, unless another entity has it. Returns the id of the entity that has the name then. */
async function nameEntity(env: IdentityEnv, id: string, name: string): Promise<string> {
  const nameIt = async (insteadOf: string | null): Promise<string> =>
    (await attempted(env, (call) => identityOf(env).nameEntity(id, name, insteadOf, call))).answer;
  const holder = await nameIt(null);
  const isTaken = holder === id || (await findEntity(env, { id: holder })) !== null;
  return isTaken ? holder : nameIt(holder);
}

/**
 * Deletes entities with their aliases. Safe to repeat. Their shards come first, so that their tokens are refused even
 * after a crash. Entries in the directory and pointers that a crash leaves behind lead to no entity, and other entities
 * can replace them.
 * @returns the ids of the deleted entities, which can be logged. Other keys are unchecked text of the client.
 */
export async function deleteEntities(env: IdentityEnv, keys: readonly IdOrName[]): Promise<readonly string[]> {
  const named = await inGroups(keys, async (key) => {
    if ("id" in key) return key.id;
    // The directory also has the names of entities that are deleted.
    return (await findEntity(env, key))?.id ?? identityOf(env).entityOfName(key.name);
  });
  const ids = named.filter((id) => id !== null);
  const deleted = await askHomes(env, ids, async (home, here) => {
    const { answer, isRepetition } = await attempted(env, () => home.deleteEntities(here));
    if (!isRepetition) return answer;
    // An earlier attempt may have deleted them. What they left behind is not known then, as after a crash.
    return here.map((id) => answer.find((one) => one.id === id) ?? { id, aliases: [], mergedIds: [] });
  });
  const aliases = deleted.flatMap((entity) => entity.aliases);
  await inGroups(aliases, (alias) => releaseAlias(env, alias));
  const mergedIds = deleted.flatMap((entity) => entity.mergedIds);
  await inGroups([...Map.groupBy(mergedIds, shardOfEntity)], async ([shard, here]) => {
    if (shard !== null) await entityShard(env, shard).dropMerged(here, ids);
  });
  await identityOf(env).forgetEntities(ids);
  return deleted.map(({ id }) => id);
}
