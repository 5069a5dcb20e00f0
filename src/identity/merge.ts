import { inGroups } from "../base/parallel.ts";
import { err, type Failure, ok, type Result, refuse, unavailable } from "../base/result.ts";
import { releaseAlias } from "./alias-steps.ts";
import { deleteAlias, writeAlias } from "./alias-writes.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasRecord, EntityRecord } from "./model.ts";
import { findAlias, findEntity } from "./read-entity.ts";
import { MAX_ALIAS_CHARACTERS } from "./shard/alias-rules.ts";
import { askHomes, homeOf } from "./stubs.ts";

/** Maximum number of entities that are merged at once, and that an entity was ever merged from. */
export const MAX_MERGED = 100;
/** Maximum number of attempts while other writes change the aliases. */
const MAX_ATTEMPTS = 5;

const CHANGING = unavailable("the entities are being changed; try again");
const NO_TARGET = "entity id to merge to is invalid";

export interface Merge {
  readonly into: string;
  /** Without repeats. */
  readonly from: readonly string[];
  /** True: where several entities have an alias on one mount, the target's alias is kept, or else the first one. */
  readonly force: boolean;
  /** Ids of the aliases to keep where several entities have an alias on the same mount. */
  readonly keep: readonly string[];
}

/** The part of the directory (`Identity`) that a merge needs. */
interface Directory {
  beginMerge(from: readonly string[], into: string): Promise<Result<null>>;
  begunMerges(from: readonly string[], into: string): Promise<string[]>;
  endMerge(from: readonly string[]): void;
  forgetEntities(ids: readonly string[]): Promise<void>;
}

interface Plan extends AliasPlan {
  /** The entities that still exist: in a repeated merge, others are already merged. */
  readonly sources: readonly EntityRecord[];
  /** Ids of all entities that are merged into the target after this merge. */
  readonly mergedIds: readonly string[];
}

/** The aliases that leave the target, and the aliases that it gets. Other aliases of the sources end with them. */
interface AliasPlan {
  readonly dropped: readonly AliasRecord[];
  readonly moved: readonly AliasRecord[];
}

/**
 * Merges entities into another one: their aliases and group memberships move, then each entity is replaced by a note
 * that leads its tokens to the target. Policies and metadata are not merged. Messages are the reference's
 * (identity/entity/merge). The directory calls it, for one merge after another.
 *
 * The steps are safe to repeat, and each leaves a valid state. After a crash the directory still has the merge: no
 * other merge may name its entities, and the same request completes it. A refusal ends the merge.
 */
export async function mergeEntities(env: IdentityEnv, directory: Directory, merge: Merge): Promise<Result<null>> {
  const merged = await mergeAll(env, directory, merge);
  if (!merged.ok) await abandon(env, directory, merge);
  return merged;
}

async function mergeAll(env: IdentityEnv, directory: Directory, merge: Merge): Promise<Result<null>> {
  let plan = await planMerge(env, merge);
  if (!plan.ok) return plan;
  const begun = await directory.beginMerge(merge.from, merge.into);
  if (!begun.ok) return begun;
  let problem: Failure | null = CHANGING;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    problem = await carryOut(env, merge.into, plan.value);
    if (problem === null) {
      await shortenWays(env, merge, plan.value.mergedIds);
      await directory.forgetEntities(merge.from);
      return ok(null);
    }
    plan = await planMerge(env, merge);
    if (!plan.ok) return plan;
  }
  return err(problem ?? CHANGING);
}

async function planMerge(env: IdentityEnv, merge: Merge): Promise<Result<Plan>> {
  const { into, from } = merge;
  const target = await findEntity(env, { id: into });
  if (!target) return refuse(NO_TARGET);
  if (from.includes(into)) return refuse("to_entity_id should not be present in from_entity_ids");
  const found = await inGroups(from, (id) => findEntity(env, { id }));
  const sources = found.filter((entity) => entity !== null);
  const missing = from.filter((_, at) => !found[at]);
  const merged = await askHomes(env, missing, (home, ids) => home.mergedAmong(ids, into));
  if (merged.length < missing.length) return refuse("entity id to merge from is invalid");
  const mergedIds = [...new Set([target, ...sources].flatMap((entity) => entity.mergedIds).concat(from))];
  if (mergedIds.length > MAX_MERGED) {
    return refuse(`no more than ${MAX_MERGED} entities can be merged into one, with those merged into them before`);
  }
  const aliases = planAliases(target, sources, merge);
  return aliases.ok ? ok({ ...aliases.value, sources, mergedIds }) : aliases;
}

/** Decides which alias stays on each mount. */
function planAliases(target: EntityRecord, sources: readonly EntityRecord[], merge: Merge): Result<AliasPlan> {
  if (sources.length > 1 && merge.keep.length > 1) {
    return refuse("aliases conflicts cannot be resolved with multiple from entity ids - merge one entity at a time");
  }
  // After a crash, a moved alias can also still be at its old entity. The target comes first, so its state counts.
  const byId = new Map<string, AliasRecord>();
  for (const alias of [target, ...sources].flatMap((entity) => entity.aliases)) {
    if (!byId.has(alias.id)) byId.set(alias.id, alias);
  }
  const aliases = [...byId.values()];
  const keep = new Set(merge.keep);
  const staying: AliasRecord[] = [];
  for (const onMount of Map.groupBy(aliases, ({ mountAccessor }) => mountAccessor).values()) {
    const kept = onMount.find(({ id }) => keep.has(id)) ?? (merge.force ? onMount[0] : undefined);
    if (onMount.length > 1 && !kept) return refuse(conflictOf(onMount));
    staying.push(...(kept ? [kept] : onMount));
  }
  if (JSON.stringify(staying).length > MAX_ALIAS_CHARACTERS) {
    return refuse(`the aliases of an entity must not have more than ${MAX_ALIAS_CHARACTERS} characters`);
  }
  return ok({
    dropped: target.aliases.filter((alias) => !staying.includes(alias)),
    moved: staying.filter((alias) => alias.entityId !== target.id),
  });
}

function conflictOf(onMount: readonly AliasRecord[]): string {
  const shown = onMount.map(({ id, entityId }) => `alias ${id} of entity ${entityId}`).join(", ");
  return `the entities have aliases with the same mount accessor: ${shown}; send force, or the ids to keep in conflicting_alias_ids_to_keep`;
}

/**
 * Carries out a plan. The target lists the merged entities before their tokens lead to it, so that whatever ends the
 * tokens of the target reaches these tokens too. @returns the reason when other writes meanwhile require another plan.
 */
async function carryOut(env: IdentityEnv, into: string, plan: Plan): Promise<Failure | null> {
  for (const { id } of plan.dropped) {
    const deleted = await deleteAlias(env, id);
    if (!deleted.ok) return deleted.error;
  }
  for (const { id } of plan.moved) {
    const unchanged = { name: null, mountAccessor: null, customMetadata: null };
    const moved = await writeAlias(env, id, { ...unchanged, entityId: into });
    if (!moved.ok) return moved.error;
  }
  if (!(await homeOf(env, into)?.addMerged(into, plan.mergedIds))) return CHANGING;
  const moved = new Set(plan.moved);
  for (const { id, aliases } of plan.sources) {
    const leaving = aliases.filter((alias) => !moved.has(alias));
    const left = await homeOf(env, id)?.mergeInto(id, into, leaving);
    if (!left) return CHANGING;
    if (!left.merged) {
      await inGroups(left.aliases, (alias) => settle(env, alias));
      return CHANGING;
    }
    await inGroups(left.aliases, (alias) => releaseAlias(env, alias));
  }
  return null;
}

/**
 * Ends the reservation of an alias, so that it can move: it becomes active if its name leads to its entity already.
 * Otherwise the write that made it was interrupted, or gets a 503 and has to be repeated.
 */
async function settle(env: IdentityEnv, alias: AliasRecord): Promise<void> {
  const found = await findAlias(env, alias);
  if (found?.id === alias.id && found.entityId === alias.entityId) return;
  await homeOf(env, alias.entityId)?.dropReservedAlias(alias.entityId, alias.id);
}

/** Redirects earlier merges into the sources to the target, so that reads follow few merges. */
async function shortenWays(env: IdentityEnv, { into, from }: Merge, mergedIds: readonly string[]): Promise<void> {
  const earlier = mergedIds.filter((id) => !from.includes(id));
  await askHomes(env, earlier, (home, ids) => home.redirectMerged(ids, into));
}

/** Ends a merge that was refused after it had begun. Entities that are already merged stay merged, the others don't. */
async function abandon(env: IdentityEnv, directory: Directory, { into, from }: Merge): Promise<void> {
  const begun = await directory.begunMerges(from, into);
  if (begun.length === 0) return;
  const merged = new Set(await askHomes(env, begun, (home, ids) => home.mergedAmong(ids, into)));
  const rest = begun.filter((id) => !merged.has(id));
  const entities = await inGroups(rest, (id) => findEntity(env, { id }));
  const listed = [...rest, ...entities.flatMap((entity) => entity?.mergedIds ?? [])];
  await homeOf(env, into)?.removeMerged(into, listed);
  directory.endMerge(begun);
}
