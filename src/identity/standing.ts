import { currentTime } from "../base/clock.ts";
import { type Failure, UNAUTHENTICATED } from "../base/errors.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { isGoodCopy } from "../system/expected-changes.ts";
import { snapshotMaxAgeMs } from "../system/snapshot-age.ts";
import { entityAnnouncedAt } from "./announcements.ts";
import { forgetGroups, freshGroups, type GroupsInState, loadGroups } from "./known-groups.ts";
import type { EntityView, OwnEntityState } from "./model.ts";
import { shardThatTells } from "./shard/place.ts";
import { entityShard } from "./shard/stub.ts";
import { entityView } from "./view.ts";

/** Entities in one generation of the cache of an isolate. */
const MAX_ENTITIES = 1024;
const NO_GROUPS: GroupsInState = { state: 0, groups: [] };

/** What this isolate knows of an entity. Every answer is an object of its own, so two can be told apart. */
interface KnownEntity {
  /** null: there is none (any more). */
  readonly entity: OwnEntityState | null;
  /** When it was last known to be true (ms). */
  readonly checkedAt: number;
}

/** What this isolate knows. */
const known = new GenerationalCache<string, KnownEntity>(MAX_ENTITIES);
/** What was made of it, as of a state of the groups. */
const views = new WeakMap<OwnEntityState, { readonly groupsState: number; readonly view: EntityView | null }>();
/**
 * Counts the writes of this isolate. An answer that was under way during a write may be older than the write, so it is
 * not cached.
 */
let writes = 0;

/**
 * The entity as this isolate knows it; null when there is none (any more). It is no older than POLICY_CACHE_SECONDS, or nothing of it
 * has changed since, but for what was not announced: that is no older than a minute.
 */
export async function loadEntity(env: Env, id: string): Promise<EntityView | null> {
  const entity = await loadOwn(env, id);
  return entity && withGroups(env, entity);
}

/** The same if this isolate knows it without asking anybody, else null. */
export function freshEntity(env: Env, id: string): EntityView | null {
  const found = known.get(id);
  if (!found?.entity || !isFresh(env, id, found, currentTime())) return null;
  const { groupIds } = found.entity;
  const groups = groupIds.length === 0 ? NO_GROUPS : freshGroups(env, groupIds);
  return groups && viewOf(found.entity, groups);
}

async function loadOwn(env: Env, id: string): Promise<OwnEntityState | null> {
  const now = currentTime();
  const before = known.get(id);
  if (before && isFresh(env, id, before, now)) return before.entity;
  const writesBefore = writes;
  const answer = await entityShard(env, shardThatTells(id)).entity(id, before?.entity?.revision ?? null, now);
  const entity = answer === "unchanged" ? (before?.entity ?? null) : answer;
  // What arrived meanwhile can be newer than this answer.
  if (writes === writesBefore && known.get(id) === before) known.set(id, { entity, checkedAt: now }, 1);
  return entity;
}

/** What `learnEntity` takes. */
export interface AskingForEntity {
  /** The entity that it will probably be; null when nobody knows. */
  readonly expectedId: string | null;
  readonly before: KnownEntity | undefined;
  readonly writes: number;
  readonly checkedAt: number;
}

/** Call it before somebody is asked for an entity by something else than its id. */
export function beginAskingForEntity(expectedId: string | null): AskingForEntity {
  const before = expectedId === null ? undefined : known.get(expectedId);
  return { expectedId, before, writes, checkedAt: currentTime() };
}

/** Keeps an entity that somebody was asked for, so that whoever needs it next asks nobody. */
export async function learnEntity(
  env: Env,
  entity: OwnEntityState,
  { expectedId, before, writes: writesBefore, checkedAt }: AskingForEntity,
): Promise<EntityView | null> {
  if (writes === writesBefore) {
    const { id } = entity.entity;
    const meanwhile = known.get(id);
    const isNewest = meanwhile === undefined || (id === expectedId && meanwhile === before);
    if (isNewest || meanwhile.entity?.revision === entity.revision) known.set(id, { entity, checkedAt }, 1);
    // Two answers crossed, and nobody knows which of them is the newer one.
    else known.forget(id);
  }
  return withGroups(env, entity);
}

/** Makes this isolate read every entity and every group anew. Called after every own write, so that the writer sees it at once. */
export function forgetEntities(): void {
  writes++;
  known.clear();
  forgetGroups();
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

async function withGroups(env: Env, entity: OwnEntityState): Promise<EntityView | null> {
  return viewOf(entity, entity.groupIds.length === 0 ? NO_GROUPS : await loadGroups(env, entity.groupIds));
}

function viewOf(entity: OwnEntityState, { state, groups }: GroupsInState): EntityView | null {
  const made = views.get(entity);
  if (made?.groupsState === state) return made.view;
  const view = entityView(entity, groups, state);
  views.set(entity, { groupsState: state, view });
  return view;
}

function isFresh(env: Env, id: string, { checkedAt }: KnownEntity, now: number): boolean {
  return isGoodCopy({ checkedAt, announcedAt: entityAnnouncedAt(env, id), maxAgeMs: snapshotMaxAgeMs(env) }, now);
}
