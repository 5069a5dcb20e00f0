import type { AliasRecord } from "../model.ts";
import type { AliasIndex } from "./alias-index.ts";
import { recordOf } from "./entity.ts";
import type { EntityStore } from "./entity-store.ts";
import { entityPrefixOf } from "./place.ts";

/** An alias, or where it is by now. */
export type AliasOrMoved = AliasRecord | MovedAlias;

/** An alias that an operator has moved to another entity than the one for which its id was drawn. */
export interface MovedAlias {
  readonly id: string;
  readonly movedTo: string;
}

/** Pointers by the ids of moved aliases have this in place of a mount: no mount has such an accessor. */
export const BY_ALIAS_ID = "";

/** Entities that are read at once. */
const PAGE = 100;

/** The alias with an id that this shard drew; null when there is none. */
export function findAlias(entities: EntityStore, index: AliasIndex, id: string): AliasOrMoved | null {
  const prefix = entityPrefixOf(id);
  for (const entity of entities.list(prefix, PAGE)) {
    if (!entity.id.startsWith(prefix)) break;
    const alias = recordOf(entity).aliases.find((one) => one.id === id);
    if (alias) return alias;
  }
  const pointer = index.holder({ mountAccessor: BY_ALIAS_ID, name: id });
  return pointer && { id, movedTo: pointer.entityId };
}

/** At most `limit` aliases with ids that this shard drew, after the id `after`, in their order. */
export function listAliases(entities: EntityStore, index: AliasIndex, after: string, limit: number): AliasOrMoved[] {
  const own: AliasRecord[] = [];
  for (let first = entityPrefixOf(after); own.length < limit; ) {
    const page = entities.list(first, PAGE);
    const aliases = page.flatMap((entity) => recordOf(entity).aliases);
    own.push(...aliases.filter(({ id, entityId }) => id > after && entityPrefixOf(id) === entityPrefixOf(entityId)));
    const last = page.at(-1);
    if (!last || page.length < PAGE) break;
    // The least text after it.
    first = `${last.id}\0`;
  }
  const moved = index.list(BY_ALIAS_ID, after, limit).map(({ name: id, entityId }) => ({ id, movedTo: entityId }));
  return [...own, ...moved].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
}
