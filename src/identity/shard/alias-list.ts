import type { AliasRecord } from "../model.ts";
import type { AliasOwners } from "./alias-owners.ts";
import { type AliasPointers, BY_ALIAS_ID, type MovedAlias } from "./alias-pointers.ts";
import { recordOf } from "./entity.ts";
import type { EntityStore } from "./entity-store.ts";
import { entityPrefixOf } from "./sharding.ts";

/** An alias, or where it was moved to. */
export type AliasOrMoved = AliasRecord | MovedAlias;

const PAGE = 100;

/** The aliases by id, in the shard of the entities for which their ids were generated. */
export class AliasList {
  readonly #entities: EntityStore;
  readonly #owners: AliasOwners;
  readonly #pointers: AliasPointers;

  constructor(entities: EntityStore, owners: AliasOwners, pointers: AliasPointers) {
    this.#entities = entities;
    this.#owners = owners;
    this.#pointers = pointers;
  }

  find(id: string): AliasOrMoved | null {
    const prefix = entityPrefixOf(id);
    for (const entity of this.#entities.list(prefix, PAGE)) {
      if (!entity.id.startsWith(prefix)) break;
      const alias = recordOf(entity).aliases.find((one) => one.id === id);
      if (alias) return alias;
    }
    const pointer = this.#owners.holder({ mountAccessor: BY_ALIAS_ID, name: id });
    return pointer && { id, movedTo: pointer.entityId };
  }

  /** Returns at most `limit` aliases after the id `after`, in order. */
  page(after: string, limit: number): AliasOrMoved[] {
    const own: AliasRecord[] = [];
    for (let first = entityPrefixOf(after); own.length < limit; ) {
      const page = this.#entities.list(first, PAGE);
      const aliases = page.flatMap((entity) => recordOf(entity).aliases);
      own.push(...aliases.filter(({ id, entityId }) => id > after && entityPrefixOf(id) === entityPrefixOf(entityId)));
      const last = page.at(-1);
      if (!last || page.length < PAGE) break;
      // The least text that is greater than the last id.
      first = `${last.id}\0`;
    }
    const all = [...own, ...this.#pointers.moved(after, limit)];
    return all.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
  }
}
