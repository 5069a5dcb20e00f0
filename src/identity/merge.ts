import { inGroups } from "../base/parallel.ts";
import { DENIED, err, ok, type Result, refuse } from "../base/result.ts";
import { findEntity } from "./entities.ts";
import type { IdentityEnv } from "./env.ts";
import type { AliasRecord, EntityRecord } from "./model.ts";
import { MAX_ALIAS_CHARACTERS } from "./shard/entity.ts";
import { identityOf } from "./stubs.ts";
import { deleteAlias, deleteEntities, writeAlias } from "./writes.ts";

/** What a merge asks for. An id of `from` counts once. */
export interface Merge {
  readonly into: string;
  readonly from: readonly string[];
  /** True: where two entities have an alias on one mount, that of the target stays, or else the first one. */
  readonly force: boolean;
  /** Ids of aliases that stay where two entities have one on the same mount. */
  readonly keep: readonly string[];
}

/** The aliases that leave the target, and those that it gets. Aliases that are neither end with their entities. */
interface AliasPlan {
  readonly dropped: readonly AliasRecord[];
  readonly moved: readonly AliasRecord[];
}

/**
 * Merges entities into another one: their aliases and memberships of groups move, then they are deleted, and with them
 * their tokens. Policies and metadata are not merged. Messages are the reference's (identity/entity/merge).
 *
 * The steps are safe to repeat, and each leaves a valid state: the merged entities exist until the last one. A crash in
 * between leaves a part of the aliases and memberships moved, and the same request completes the merge.
 */
export async function mergeEntities(env: IdentityEnv, merge: Merge): Promise<Result<null>> {
  const { into } = merge;
  const from = [...new Set(merge.from)];
  const target = await findEntity(env, { id: into });
  if (!target) return refuse("entity id to merge to is invalid");
  if (from.includes(into)) return refuse("to_entity_id should not be present in from_entity_ids");
  const found = await inGroups(from, (id) => findEntity(env, { id }));
  const sources = found.filter((entity) => entity !== null);
  if (sources.length < from.length) return refuse("entity id to merge from is invalid");
  const plan = planAliases(target, sources, merge);
  if (!plan.ok) return plan;
  // False: a membership was tampered with. Without it the target could get more than its groups deny.
  if (!(await identityOf(env).copyMemberships(from, into))) return err(DENIED);
  for (const { id } of plan.value.dropped) await deleteAlias(env, id);
  for (const { id } of plan.value.moved) {
    const unchanged = { name: null, mountAccessor: null, customMetadata: null };
    const moved = await writeAlias(env, id, { ...unchanged, entityId: into });
    if (!moved.ok) return moved;
  }
  await deleteEntities(
    env,
    from.map((id) => ({ id })),
  );
  return ok(null);
}

/** Decides which alias stays on each mount. */
function planAliases(target: EntityRecord, sources: readonly EntityRecord[], merge: Merge): Result<AliasPlan> {
  if (sources.length > 1 && merge.keep.length > 1) {
    return refuse("aliases conflicts cannot be resolved with multiple from entity ids - merge one entity at a time");
  }
  // A crash can leave an alias that has moved at its old entity too. The target comes first.
  const byId = new Map<string, AliasRecord>();
  for (const alias of [target, ...sources].flatMap((entity) => entity.aliases)) {
    if (!byId.has(alias.id)) byId.set(alias.id, alias);
  }
  const aliases = [...byId.values()];
  const staying: AliasRecord[] = [];
  for (const onMount of Map.groupBy(aliases, ({ mountAccessor }) => mountAccessor).values()) {
    const kept = onMount.find(({ id }) => merge.keep.includes(id)) ?? (merge.force ? onMount[0] : undefined);
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
