import { ok, type Result } from "../../base/result.ts";
import type { AliasPlace, AliasRecord, EntityAlias } from "../model.ts";
import {
  aliasAt,
  allAliasesOf,
  followed,
  withActivated,
  withoutAlias,
  withoutReserved,
  withReserved,
} from "./alias-rules.ts";
import type { EntityStore } from "./entity-store.ts";

/** Changes of the aliases of entities; `src/identity/alias-steps.ts` has the order in which shards are called. */
export class EntityAliases {
  readonly #entities: EntityStore;

  constructor(entities: EntityStore) {
    this.#entities = entities;
  }

  /** Returns an alias whose name leads to this entity, or null. Activates a reserved alias, see `followed`. */
  follow(entityId: string, place: AliasPlace): AliasRecord | null {
    const found = this.#entities.good(entityId);
    const entity = found && followed(found.entity, place);
    if (!entity) return null;
    if (entity !== found.entity) this.#entities.update(found, entity);
    const alias = aliasAt(entity, place);
    return alias && { ...alias, entityId };
  }

  /** See `EntityShard.reserveAlias`. */
  reserve(
    entityId: string,
    alias: EntityAlias,
    instead: AliasPlace | null,
  ): Result<"reserved" | "changed" | "another"> {
    const found = this.#entities.good(entityId);
    const isAsSeen = !instead || (found && aliasAt(found.entity, instead)?.id === alias.id);
    if (!found || !isAsSeen) return ok("changed");
    const entity = withReserved(found.entity, alias);
    if (!entity) return ok("another");
    const written = this.#entities.updateBounded(found, entity);
    return written.ok ? ok("reserved") : written;
  }

  /** Activates a reserved alias. False when it is neither reserved nor active. */
  activate(entityId: string, aliasId: string): boolean {
    const found = this.#entities.good(entityId);
    if (!found) return false;
    const entity = withActivated(found.entity, aliasId);
    if (entity) this.#entities.update(found, entity);
    return entity !== null || found.entity.aliases.some(({ id }) => id === aliasId);
  }

  /** Removes an alias, active or reserved. False when the entity does not have it. */
  drop(entityId: string, aliasId: string): boolean {
    const found = this.#entities.good(entityId);
    if (!found || !allAliasesOf(found.entity).some(({ id }) => id === aliasId)) return false;
    this.#entities.update(found, withoutAlias(found.entity, aliasId));
    return true;
  }

  dropReserved(entityId: string, aliasId: string): void {
    const found = this.#entities.good(entityId);
    if (found) this.#entities.update(found, withoutReserved(found.entity, aliasId));
  }
}
