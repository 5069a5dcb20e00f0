import { currentTime } from "../base/clock.ts";
import { type Failure, UNAUTHENTICATED } from "../base/errors.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { snapshotMaxAgeMs } from "../system/snapshot-age.ts";
import { identityOf, type ViewAnswer } from "./identity.ts";
import type { EntityView } from "./model.ts";
import { entityShard } from "./shard/entity-shard.ts";
import { shardOfEntity } from "./shard/place.ts";

/** Entities in one generation of the cache of an isolate. */
const MAX_ENTITIES = 1024;

/** What this isolate knows of an entity. Every answer is an object of its own, so two can be told apart. */
interface KnownEntity {
  /** null: there is none (any more). */
  readonly view: EntityView | null;
  /** When it was last known to be true (ms). */
  readonly checkedAt: number;
}

/** What this isolate knows. */
const known = new GenerationalCache<string, KnownEntity>(MAX_ENTITIES);
/** Entities that their shards handed over. */
const handedOver = new GenerationalCache<string, true>(MAX_ENTITIES);
/**
 * Counts the writes of this isolate. An answer that was under way during a write may be older than the write, so it is
 * not cached.
 */
let writes = 0;

/** The entity as this isolate knows it, no older than POLICY_CACHE_SECONDS; null when there is none (any more). */
export async function loadEntity(env: Env, id: string): Promise<EntityView | null> {
  const now = currentTime();
  const before = known.get(id);
  if (before && isFresh(env, before, now)) return before.view;
  const writesBefore = writes;
  const answer = await viewOf(env, id, before?.view?.revision ?? null);
  const view = answer === "unchanged" ? (before?.view ?? null) : answer;
  // What arrived meanwhile can be newer than this answer.
  if (writes === writesBefore && known.get(id) === before) known.set(id, { view, checkedAt: now }, 1);
  return view;
}

/** The entity, if this isolate knows it and it is no older than POLICY_CACHE_SECONDS. Asks nobody. */
export function freshEntity(env: Env, id: string): EntityView | null {
  const found = known.get(id);
  return found && isFresh(env, found, currentTime()) ? found.view : null;
}

/**
 * Asks for an entity by something else than its id, and keeps the answer, so that whoever needs the entity next asks nobody.
 *
 * @param expectedId the entity that it will probably be; null when nobody knows.
 */
export async function learnEntity(
  expectedId: string | null,
  ask: () => Promise<EntityView | null>,
): Promise<EntityView | null> {
  const checkedAt = currentTime();
  const writesBefore = writes;
  const before = expectedId === null ? undefined : known.get(expectedId);
  const view = await ask();
  if (!view || writes !== writesBefore) return view;
  const { id } = view.entity;
  const meanwhile = known.get(id);
  const isNewest = meanwhile === undefined || (id === expectedId && meanwhile === before);
  if (isNewest || meanwhile.view?.revision === view.revision) known.set(id, { view, checkedAt }, 1);
  // Two answers crossed, and nobody knows which of them is the newer one.
  else known.forget(id);
  return view;
}

/** Makes this isolate read every entity anew. Called after every own write, so that the writer sees it at once. */
export function forgetEntities(): void {
  writes++;
  known.clear();
}

/**
 * What the entity of a token adds to it: null for a token without an entity, which costs nothing.
 *
 * @returns "unauthenticated" when the entity is disabled or gone.
 */
export async function loadActiveEntity(env: Env, entityId: string): Promise<Result<EntityView | null, Failure>> {
  if (entityId === "") return ok(null);
  const view = await loadEntity(env, entityId);
  return view && !view.disabled ? ok(view) : err(UNAUTHENTICATED);
}

/** The policies that answers show beside those of a token; none without an entity. */
export async function policiesOfEntity(env: Env, entityId: string): Promise<readonly string[]> {
  return entityId === "" ? [] : ((await loadEntity(env, entityId))?.policies ?? []);
}

/** Asks the object that has the entity. A shard that had it sends to `Identity`, which has it for good then. */
async function viewOf(env: Env, id: string, known: string | null): Promise<ViewAnswer> {
  const shard = handedOver.get(id) ? null : shardOfEntity(id);
  const answer = shard === null ? "elsewhere" : await entityShard(env, shard).view(id, known);
  if (answer !== "elsewhere") return answer;
  if (shard !== null) handedOver.set(id, true, 1);
  return identityOf(env).view(id, known);
}

function isFresh(env: Env, { checkedAt }: KnownEntity, now: number): boolean {
  return now - checkedAt < snapshotMaxAgeMs(env) && now >= checkedAt;
}
