import { currentTime } from "../base/clock.ts";
import { type Failure, UNAUTHENTICATED } from "../base/errors.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { snapshotMaxAgeMs } from "../system/snapshot-age.ts";
import { identityOf } from "./identity.ts";
import type { EntityView } from "./model.ts";

/** Entities in one generation of the cache of an isolate. */
const MAX_ENTITIES = 1024;

interface Known {
  readonly view: EntityView | null;
  /** When it was last known to be true (ms). */
  readonly checkedAt: number;
}

/** What this isolate knows. */
const known = new GenerationalCache<string, Known>(MAX_ENTITIES);
/**
 * Counts the writes of this isolate. An answer that was under way during a write may be older than the write, so it is
 * not cached.
 */
let writes = 0;

/** The entity as this isolate knows it, no older than POLICY_CACHE_SECONDS; null when there is none (any more). */
export async function loadEntity(env: Env, id: string): Promise<EntityView | null> {
  const now = currentTime();
  const before = known.get(id);
  if (before && now - before.checkedAt < snapshotMaxAgeMs(env) && now >= before.checkedAt) return before.view;
  const writesBefore = writes;
  const answer = await identityOf(env).view(id, before?.view?.revision ?? null);
  const view = answer === "unchanged" ? (before?.view ?? null) : answer;
  if (writes === writesBefore) known.set(id, { view, checkedAt: now }, 1);
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
