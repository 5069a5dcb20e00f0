import { waitUntil } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import { IsolateCopy, type Reading } from "../base/isolate-copy.ts";
import { err, ok, type Result, UNAUTHENTICATED } from "../base/result.ts";
import type { Acl } from "../policy/acl.ts";
import { normalizePolicyNames } from "../policy/name.ts";
import { snapshotMaxAgeMs } from "../system/copy-age.ts";
import type { Installation } from "../system/installation.ts";
import type { IdentityEnv } from "./env.ts";
import { entityView, forgetGroups, type Groups, loadGroups } from "./groups.ts";
import type { EntityState, EntityView } from "./model.ts";
import { homeOf } from "./stubs.ts";

/** Characters of the entities in one generation of the copies of an isolate, as JSON. */
const MAX_ENTITY_CHARACTERS = 2 ** 20;

/** Entities as this isolate knows them; null: there is none (any more). */
const copies = new IsolateCopy<string, EntityState | null>(
  MAX_ENTITY_CHARACTERS,
  (a, b) => a?.revision === b?.revision,
  (state) => JSON.stringify(state).length,
);
/** What was made of them and of the groups of a revision, -1 for an entity that is in none. */
const views = new WeakMap<EntityState, { readonly groupsRevision: number; readonly view: EntityView | null }>();

/** The entity with its groups, both no older than POLICY_CACHE_SECONDS; null when there is none (any more). */
export async function loadEntity(env: IdentityEnv, id: string): Promise<EntityView | null> {
  const state = await loadState(env, id);
  return state && loadView(env, state);
}

/** The entity without what its groups add, no older than POLICY_CACHE_SECONDS; null when there is none (any more). */
export async function loadState(env: IdentityEnv, id: string): Promise<EntityState | null> {
  const read = async () => (await homeOf(env, id)?.entity(id)) ?? null;
  return (await copies.load(id, snapshotMaxAgeMs(env), read, waitUntil)) ?? null;
}

/** The same if this isolate knows it without asking, else null. */
export function freshState(env: IdentityEnv, id: string): EntityState | null {
  return copies.find(id, snapshotMaxAgeMs(env)) ?? null;
}

/** Adds what its groups add to an entity; null when one of these was tampered with. */
export async function loadView(env: IdentityEnv, state: EntityState): Promise<EntityView | null> {
  return viewOf(state, state.groupIds.length === 0 ? null : await loadGroups(env));
}

/** Call it before an entity is asked for by something else than its id. */
export function beginReading(): Reading {
  return copies.begin();
}

/** Keeps an entity that was asked for by something else than its id, so that the next request that needs it makes no call. */
export function learnEntity(state: EntityState, reading: Reading): void {
  copies.keep(state.entity.id, state, reading);
}

/** Makes this isolate read an entity anew. */
export function forgetEntity(id: string): void {
  copies.forget(id);
}

/** Makes this isolate read every entity and every group anew. Called after every own write, so that the writer sees it at once. */
export function forgetEntities(): void {
  copies.clear();
  forgetGroups();
}

/**
 * What the entity of a token adds to it: null for a token without an entity, which costs nothing.
 *
 * @returns "unauthenticated" when the entity is disabled or gone.
 */
export async function loadActiveEntity(env: IdentityEnv, entityId: string): Promise<Result<EntityView | null>> {
  if (entityId === "") return ok(null);
  const view = await loadEntity(env, entityId);
  return view && !view.disabled ? ok(view) : err(UNAUTHENTICATED);
}

/** The policies that answers show beside those of a token; none without an entity. */
export async function policiesOfEntity(env: IdentityEnv, entityId: string): Promise<readonly string[]> {
  return entityId === "" ? [] : ((await loadEntity(env, entityId))?.policies ?? []);
}

function viewOf(state: EntityState, groups: Groups | null): EntityView | null {
  const groupsRevision = groups?.revision ?? -1;
  const made = views.get(state);
  if (made?.groupsRevision === groupsRevision) return made.view;
  const view = entityView(state, groups);
  views.set(state, { groupsRevision, view });
  return view;
}

/** The policies of a token and, while it has one, of its entity. */
interface TokenPolicies {
  readonly policies: readonly string[];
  readonly entityId: string;
}

/** The rules that hold now for a token. A refusal when its entity is disabled or gone. */
export async function aclOfToken(
  env: IdentityEnv,
  installation: Installation,
  token: TokenPolicies,
): Promise<Result<Acl>> {
  const entity = await loadActiveEntity(env, token.entityId);
  return entity.ok ? ok(aclOf(installation, token.policies, entity.value, currentTime())) : entity;
}

/**
 * The rules of a token and of its entity.
 *
 * @param entity what the entity adds, as `loadActiveEntity` gives it; null without one.
 * @param now ms.
 */
export function aclOf(
  installation: Pick<Installation, "aclFor">,
  tokenPolicies: readonly string[],
  entity: EntityView | null,
  now: number,
): Acl {
  const added = entity?.policies ?? [];
  const names = added.length === 0 ? tokenPolicies : normalizePolicyNames([...tokenPolicies, ...added]);
  return installation.aclFor(names, entity, now);
}
