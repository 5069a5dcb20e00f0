import type { Ms } from "../../base/clock.ts";
import { DENIED, err, ok, type Result } from "../../base/result.ts";
import type { AliasMetadata, AliasPlace, EntityMetadata, EntityState } from "../model.ts";
import type { AliasOwners } from "./alias-owners.ts";
import type { AliasOwner, AliasPointers } from "./alias-pointers.ts";
import { afterLogin, isTooLarge } from "./alias-rules.ts";
import { entityStateOf, newEntity } from "./entity.ts";
import { type EntityStore, type StoredEntity, TOO_LARGE } from "./entity-store.ts";
import { firstAliasId } from "./sharding.ts";

const NOTHING = { metadata: null, policies: null, disabled: null } as const;

/** Logins, each as one transaction. */
export class Logins {
  readonly #entities: EntityStore;
  readonly #owners: AliasOwners;
  readonly #pointers: AliasPointers;

  constructor(entities: EntityStore, owners: AliasOwners, pointers: AliasPointers) {
    this.#entities = entities;
    this.#owners = owners;
    this.#pointers = pointers;
  }

  /** See `EntityShard.logIn`. */
  logIn(
    place: AliasPlace,
    { metadata, customMetadata }: AliasMetadata,
    newId: string,
    instead: AliasOwner | null,
    now: Ms,
  ): Result<{ readonly state: EntityState } | { readonly holder: AliasOwner }> {
    if (instead) this.#pointers.drop(place, instead);
    const found = this.#owners.find(place);
    if (found === "tampered") return err(DENIED);
    if (found && "claim" in found) return ok({ holder: found });
    if (found) {
      const state = this.#into(found, place, metadata, now);
      if (!state.ok) return state;
      if (!state.value) throw new Error("an entity is found by an alias that it does not have");
      return ok({ state: state.value });
    }
    const alias = { id: firstAliasId(newId), ...place, metadata: metadata ?? {}, customMetadata };
    const entity = newEntity(newId, NOTHING, { ...alias, createdAt: now, updatedAt: now }, now);
    if (isTooLarge(entity)) return err(TOO_LARGE);
    const state = stateOrDenied(this.#entities.insert(entity, place));
    return state.ok ? ok({ state: state.value }) : state;
  }

  /** See `EntityShard.logInto`. */
  logInto(id: string, place: AliasPlace, metadata: EntityMetadata | null, now: Ms): Result<EntityState | null> {
    const found = this.#entities.byId(id);
    if (found === "tampered") return err(DENIED);
    return found ? this.#into(found, place, metadata, now) : ok(null);
  }

  #into(found: StoredEntity, place: AliasPlace, metadata: EntityMetadata | null, now: Ms): Result<EntityState | null> {
    const entity = afterLogin(found.entity, place, metadata, now);
    if (!entity) return ok(null);
    const written = entity === found.entity ? ok(found) : this.#entities.updateBounded(found, entity);
    return written.ok ? stateOrDenied(written.value) : written;
  }
}

function stateOrDenied({ entity, revision }: StoredEntity): Result<EntityState> {
  const state = entityStateOf(entity, revision);
  return state ? ok(state) : err(DENIED);
}
