import type { AliasPlace } from "../model.ts";
import type { AliasOwner, AliasPointers } from "./alias-pointers.ts";
import type { EntityStore, FoundEntity } from "./entity-store.ts";

/**
 * Which entities have the aliases whose names lead to this shard: an entity of this shard that is in its index by alias,
 * or one that a pointer leads to.
 */
export class AliasOwners {
  readonly #entities: EntityStore;
  readonly #pointers: AliasPointers;

  constructor(entities: EntityStore, pointers: AliasPointers) {
    this.#entities = entities;
    this.#pointers = pointers;
  }

  /** Returns the entity itself when this shard finds it by the alias, else the entity that its pointer leads to. */
  find(place: AliasPlace): FoundEntity | AliasOwner {
    return this.#entities.byAlias(place) ?? this.#pointers.at(place);
  }

  holder(place: AliasPlace): AliasOwner | null {
    const entityId = this.#entities.idByAlias(place);
    return entityId === null ? this.#pointers.at(place) : { entityId, claim: null };
  }

  /**
   * Makes the name of an alias lead to an entity, unless it leads to another. Returns null, or the current holder.
   * @param instead a holder that may be replaced if its claim is unchanged: the caller found that it does not have the
   *   alias, or moves the alias away from it.
   */
  claim(place: AliasPlace, entityId: string, instead: AliasOwner | null): AliasOwner | null {
    const holder = this.holder(place);
    const isInTheWay = holder !== null && holder.entityId !== entityId;
    if (isInTheWay && !(holder.entityId === instead?.entityId && holder.claim === instead.claim)) return holder;
    if (holder?.entityId === entityId && holder.claim === null) return null;
    this.#entities.takeFromIndex(place);
    this.#pointers.put(place, entityId);
    return null;
  }
}
