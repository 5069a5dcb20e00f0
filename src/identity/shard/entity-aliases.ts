import { ok, type Result } from "../../base/result.ts";
import type { AliasPlace, AliasRecord, EntityAlias } from "../model.ts";
import {
  aliasAt,
  allAliasesOf,
  followed,
  isSameWrite,
  type WrittenAliasFields,
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
    instead: WrittenAliasFields | null,
  ): Result<"reserved" | "changed" | "another"> {
    const found = this.#entities.good(entityId);
    const isAsSeen = !instead || found?.entity.aliases.some((one) => isSameWrite(one, instead));
    if (!found || !isAsSeen) return ok("changed");
    const entity = withReserved(found.entity, alias);
    if (!entity) return ok("another");
    const written = this.#entities.updateBounded(found, entity);
    return written.ok ? ok("reserved") : written;
  }

  /** Activates a reserved alias. False when it is neither reserved nor active, as `isMeant` describes it. */
  activate(entityId: string, isMeant: (alias: EntityAlias) => boolean): boolean {
    const found = this.#entities.good(entityId);
    if (!found) return false;
    const alias = found.entity.reserved.find(isMeant);
    if (alias) this.#entities.update(found, withActivated(found.entity, alias));
    return alias !== undefined || found.entity.aliases.some(isMeant);
  }

  /** Removes an alias, active or reserved. False when the entity does not have it, or not active `asRead`. */
  drop(entityId: string, aliasId: string, asRead: WrittenAliasFields | undefined): boolean {
    const found = this.#entities.good(entityId);
    if (!found || !allAliasesOf(found.entity).some(({ id }) => id === aliasId)) return false;
    if (asRead && !found.entity.aliases.some((one) => isSameWrite(one, asRead))) return false;
    this.#entities.update(found, withoutAlias(found.entity, aliasId));
    return true;
  }

  dropReserved(entityId: string, aliasId: string): void {
    const found = this.#entities.good(entityId);
    if (found) this.#entities.update(found, withoutReserved(found.entity, aliasId));
  }
}
