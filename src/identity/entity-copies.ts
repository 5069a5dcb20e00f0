import { waitUntil } from "cloudflare:workers";
import { nameKey } from "../base/case-folding.ts";
import { currentTime, type Ms } from "../base/clock.ts";
import { Copies } from "../base/copies.ts";
import { unlessMethodIsMissing } from "../base/platform-errors.ts";
import { err, ok, type Result, UNAUTHENTICATED } from "../base/result.ts";
import type { Acl } from "../policy/acl.ts";
import { normalizePolicyNames } from "../policy/policy-names.ts";
import { freshCopies, maxCopyAgeMs } from "../system/copy-age.ts";
import type { Installation } from "../system/installation.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasPlace, AllGroups, EntityState, EntityView, GroupState } from "./model.ts";
import { homeOf, identityOf } from "./stubs.ts";

/** Maximum size (characters of JSON) of the entities in one generation of an isolate's copies. */
const MAX_ENTITY_CHARACTERS = 2 ** 20;

/** This isolate's copies of entities, by id. null: the entity does not exist (any more). */
export const entityCopies = new Copies<string, EntityState | null>(MAX_ENTITY_CHARACTERS, {
  sizeOf: (state) => JSON.stringify(state).length,
  inBackground: waitUntil,
});
/** Merges that a read follows. A merge points earlier ones to its result, so two suffice unless one is in progress. */
const MAX_MERGES_FOLLOWED = 4;
/** Views that were made of these copies, with the revision of the groups in them; -1 for an entity without groups. */
const views = new WeakMap<EntityState, { readonly groupsRevision: number; readonly view: EntityView | null }>();

/**
 * Returns the entity with its groups, both no older than POLICY_CACHE_SECONDS. null when it does not exist (any more),
 * or when its row or that of one of its groups was tampered with.
 */
export async function loadEntity(env: IdentityEnv, id: string): Promise<EntityView | null> {
  const state = await loadState(env, id);
  return state && loadView(env, state);
}

/**
 * Returns the entity without its groups' policies, no older than POLICY_CACHE_SECONDS; null as for `loadEntity`. For a
 * merged entity it is the entity into which it was merged, whose id differs from `id`.
 */
export async function loadState(env: IdentityEnv, id: string): Promise<EntityState | null> {
  return entityCopies.load(id, freshCopies(env), () => readState(env, id));
}

/** Reads the entity to which the merges of an id lead. */
async function readState(env: IdentityEnv, id: string): Promise<EntityState | null> {
  return (await followMerges(env, id)).state;
}

/** Returns the id to which the merges of an entity lead, with its state. */
async function followMerges(env: IdentityEnv, id: string) {
  let at = id;
  for (let steps = 0; steps <= MAX_MERGES_FOLLOWED; steps++) {
    const home = at;
    const found = (await homeOf(env, home)?.entity(home)) ?? null;
    if (!found || !("mergedInto" in found)) return { at, state: found };
    at = found.mergedInto;
  }
  return { at, state: null };
}

/** Why the tokens of an entity are refused. "tampered": its row, or one of its groups, was not written by Grove. */
export type EntityProblem = "disabled" | "deleted" | "tampered";

export const ENTITY_PROBLEMS: Readonly<Record<EntityProblem, string>> = {
  disabled: "its entity is disabled",
  deleted: "its entity was deleted",
  tampered: "the stored row of its entity, or of a group that it is in, was changed by somebody else than Grove",
};

/** Returns why `loadActiveEntity` refuses an entity; null when it does not. */
export async function entityProblem(env: IdentityEnv, id: string): Promise<EntityProblem | null> {
  if ((await loadActiveEntity(env, id)).ok) return null;
  const { at, state } = await followMerges(env, id);
  if (state?.disabled) return "disabled";
  // The entity may have been enabled since this isolate read it.
  if (state) return (await loadView(env, state)) === null ? "tampered" : null;
  return (await isTampered(env, at)) ? "tampered" : "deleted";
}

/** False also when the object still runs a release without this method. */
async function isTampered(env: IdentityEnv, id: string): Promise<boolean> {
  const home = homeOf(env, id);
  return home !== null && ((await unlessMethodIsMissing(home.isTampered(id))) ?? false);
}

/** Adds the groups and their policies to an entity; null when one of the groups was tampered with. */
export async function loadView(env: IdentityEnv, state: EntityState): Promise<EntityView | null> {
  const groups = state.groupIds.length === 0 ? null : await loadGroups(env);
  const groupsRevision = groups?.revision ?? -1;
  const made = views.get(state);
  if (made?.groupsRevision === groupsRevision) return made.view;
  const view = entityView(state, groups);
  views.set(state, { groupsRevision, view });
  return view;
}

/** Drops this isolate's copies of all entities and groups. Called after a write, so that the writer sees it at once. */
export function forgetEntities(): void {
  entityCopies.clear();
  groupCopies.clear();
}

/**
 * Returns the entity of a token; null for a token without one (""), which needs no call. "unauthenticated" when it is
 * disabled or deleted.
 */
export async function loadActiveEntity(env: IdentityEnv, entityId: string): Promise<Result<EntityView | null>> {
  if (entityId === "") return ok(null);
  const view = await loadEntity(env, entityId);
  return view && !view.disabled ? ok(view) : err(UNAUTHENTICATED);
}

/** Returns the policies of a token's entity for `identity_policies` in answers; none without an entity. */
export async function policiesOfEntity(env: IdentityEnv, entityId: string): Promise<readonly string[]> {
  return entityId === "" ? [] : ((await loadEntity(env, entityId))?.policies ?? []);
}

/** Returns the names of a token's own policies and those of its entity, in order. */
export function allPolicies(own: readonly string[], entity: Pick<EntityView, "policies"> | null): string[] {
  return [...new Set([...own, ...(entity?.policies ?? [])])].sort();
}

/** Returns the current ACL of a token. "unauthenticated" when its entity is disabled or deleted. */
export async function aclOfToken(
  env: IdentityEnv,
  installation: Installation,
  token: { readonly policies: readonly string[]; readonly entityId: string },
): Promise<Result<Acl>> {
  const entity = await loadActiveEntity(env, token.entityId);
  return entity.ok ? ok(aclOf(installation, token.policies, entity.value, currentTime())) : entity;
}

/** Returns the ACL of a token with the policies of its entity, if any. */
export function aclOf(
  installation: { readonly policies: Pick<Installation["policies"], "aclFor"> },
  tokenPolicies: readonly string[],
  entity: EntityView | null,
  now: Ms,
): Acl {
  const added = entity?.policies ?? [];
  const names = added.length === 0 ? tokenPolicies : normalizePolicyNames([...tokenPolicies, ...added]);
  return installation.policies.aclFor(names, entity, now);
}

/**
 * Returns an entity as requests need it; null when a group of the entity was tampered with. Its policies could deny
 * what others grant, so the entity can't be used without them. `groups`: null for an entity that is in none.
 */
export function entityView(state: EntityState, groups: GroupDirectory | null): EntityView | null {
  const { revision, disabled, policies, entity, groupIds } = state;
  const above = groups?.above(groupIds) ?? [];
  const all = policiesWith(policies, above);
  return (
    all && {
      revision: groups ? `${revision}.${groups.revision}` : revision,
      disabled,
      policies: all,
      entity,
      groups: above.map(({ group }) => group).sort((a, b) => (a.id < b.id ? -1 : 1)),
    }
  );
}

/** Returns the policies of an entity and of its groups; null when one of the groups was tampered with. */
export function policiesWith(own: readonly string[], above: readonly GroupState[]): readonly string[] | null {
  if (above.some(({ tampered }) => tampered)) return null;
  return normalizePolicyNames([...own, ...above.flatMap(({ policies }) => policies)]);
}

export class GroupDirectory {
  readonly revision: number;
  readonly #byId: ReadonlyMap<string, GroupState>;
  /** Ids of external groups by the mount and the name of their alias. */
  readonly #byAlias: ReadonlyMap<string, string>;

  constructor({ revision, groups }: AllGroups) {
    this.revision = revision;
    this.#byId = new Map(groups.map((state) => [state.group.id, state]));
    this.#byAlias = new Map(groups.flatMap(({ group, alias }) => (alias ? [[aliasKey(alias), group.id]] : [])));
  }

  /** Returns the groups of `ids` that exist and all groups above them. Terminates even if groups form a cycle. */
  above(ids: readonly string[]): GroupState[] {
    const found = new Map<string, GroupState>();
    for (let level = ids; level.length > 0; ) {
      const states = level.flatMap((id) => this.#byId.get(id) ?? []);
      for (const state of states) found.set(state.group.id, state);
      level = [...new Set(states.flatMap(({ parentIds }) => parentIds))].filter((id) => !found.has(id));
    }
    return [...found.values()];
  }

  giving(policy: string): string[] {
    return [...this.#byId.values()].filter(({ policies }) => policies.includes(policy)).map(({ group }) => group.name);
  }

  /** Returns the group ids of an entity after a login at a mount whose method names these groups. */
  afterLogin(mountAccessor: string, names: readonly string[], groupIds: readonly string[]): ReadonlySet<string> {
    const others = groupIds.filter((id) => this.#byId.get(id)?.alias?.mountAccessor !== mountAccessor);
    return new Set([...others, ...names.flatMap((name) => this.#byAlias.get(aliasKey({ mountAccessor, name })) ?? [])]);
  }
}

/** Returns the same key for all spellings of a name on a mount. */
export function aliasKey({ mountAccessor, name }: AliasPlace): string {
  return JSON.stringify([mountAccessor, nameKey(name)]);
}

const groupCopies = new Copies<"groups", GroupDirectory>(1, { inBackground: waitUntil });

/** Returns all groups, no older than `maxAgeMs` (default: POLICY_CACHE_SECONDS). */
export async function loadGroups(env: IdentityEnv, maxAgeMs = maxCopyAgeMs(env)): Promise<GroupDirectory> {
  const read = async () => {
    const before = groupCopies.copied("groups")?.answer;
    const answer = await identityOf(env).allGroups(before?.revision ?? null);
    if (answer) return new GroupDirectory(answer);
    if (!before) throw new Error("the directory returned no data to an isolate without a copy");
    return before;
  };
  return groupCopies.load("groups", { maxAgeMs, graceMs: 0 }, read);
}
