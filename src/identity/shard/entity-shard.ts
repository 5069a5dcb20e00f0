import { DENIED, err, invalid, ok, type Result } from "../../base/result.ts";
import { holdersOf, type PolicyHolders } from "../../policy/holders.ts";
import { GroveObject } from "../../system/grove-object.ts";
import type { IdentityEnv } from "../env.ts";
import type {
  AliasPlace,
  AliasRecord,
  DirectoryEntry,
  EntityAlias,
  EntityRecord,
  EntityState,
  EntityWrite,
  Metadata,
  SaidOfAlias,
} from "../model.ts";
import { identityOf } from "../stubs.ts";
import { AliasIndex, type AliasOrMoved, type Holder, type NamePart } from "./alias-index.ts";
import {
  afterLogin,
  aliasAt,
  aliasRecord,
  changedEntity,
  type Entity,
  followed,
  isTooLarge,
  MAX_ALIAS_CHARACTERS,
  newEntity,
  recordOf,
  stateOf,
  withActivated,
  withoutAlias,
  withoutReserved,
  withReserved,
} from "./entity.ts";
import { ENTITY_SHARD_MIGRATIONS, EntityStore, type FoundEntity, type StoredEntity } from "./entity-store.ts";
import { firstAliasId, shardOfAlias, shardOfEntity } from "./place.ts";

const TOO_LARGE = invalid(`the aliases of an entity must not have more than ${MAX_ALIAS_CHARACTERS} characters`);

/** Entities that a search without an index looks at: a few ms of the object's thread. */
const MAX_SEARCHED = 5000;

const NOTHING = { metadata: null, policies: null, disabled: null } as const;

/**
 * One of the objects that are the home of all entities. An entity is in the shard that its id begins with; one that a login makes
 * is in the shard that the name of its alias leads to, so that a first login is one transaction in one object. To other
 * aliases the shards of their names have pointers.
 */
export class EntityShard extends GroveObject<IdentityEnv> {
  readonly #entities = new EntityStore(this.tables, this.seals);
  readonly #index = new AliasIndex(this.tables, this.#entities);

  constructor(ctx: DurableObjectState, env: IdentityEnv) {
    super(ctx, env, ENTITY_SHARD_MIGRATIONS);
  }

  /**
   * The entity that the name of an alias leads to, made with the alias when it leads nowhere.
   *
   * @param newId for a new entity, of this shard.
   * @param instead a holder that the caller has found not to have the alias: it counts as none.
   * @param now ms.
   * @returns who holds the alias when a pointer leads to it; "permission_denied" when the entity was tampered with: to make a new
   * one would be a way around what it denies.
   */
  async logIn(
    place: AliasPlace,
    { metadata, customMetadata }: SaidOfAlias,
    newId: string,
    instead: Holder | null,
    now: number,
  ): Promise<Result<{ readonly state: EntityState } | { readonly holder: Holder }>> {
    await this.#openForWrite(shardOfAlias(place));
    if (instead) this.#index.drop(place, instead);
    const found = this.#index.find(place);
    if (found === "tampered") return err(DENIED);
    if (found && "claim" in found) return ok({ holder: found });
    if (found) {
      const state = this.#logIn(found, place, metadata, now);
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

  /**
   * The entity that a pointer leads to, after a login by the alias; null when it does not have the alias.
   *
   * @param metadata as for `logIn`, like what is returned. `now` in ms.
   */
  async logInto(
    id: string,
    place: AliasPlace,
    metadata: Metadata | null,
    now: number,
  ): Promise<Result<EntityState | null>> {
    const found = await this.#find(id);
    if (found === "tampered") return err(DENIED);
    return found ? this.#logIn(found, place, metadata, now) : ok(null);
  }

  /** An entity as requests need it; null when there is none (any more) or it was tampered with. */
  async entity(id: string): Promise<EntityState | null> {
    const found = await this.#good(id);
    return found && stateOf(found);
  }

  /** An entity by its id, or null. */
  async readEntity(id: string): Promise<EntityRecord | null> {
    const found = await this.#good(id);
    return found && recordOf(found.entity);
  }

  /** At most `limit` entities with ids from `first` on, in their order; in the order "name" those that no operator has named. */
  async listEntities(order: "id" | "name", first: string, limit: number): Promise<EntityRecord[]> {
    await this.keys.open();
    const entities = order === "id" ? this.#entities.list(first, limit) : this.#entities.listUnnamed(first, limit);
    return entities.map(recordOf);
  }

  /** How many entities there are, counted up to `most`. */
  countEntities(most: number): number {
    return this.#entities.count(most);
  }

  /** Those of the ids that entities have. */
  async existing(ids: readonly string[]): Promise<string[]> {
    await this.keys.open();
    return ids.filter((id) => isGood(this.#entities.byId(id)));
  }

  /** Makes an entity without an alias. `id` is drawn for it, of this shard. `now` in ms. */
  async createEntity(id: string, write: Omit<EntityWrite, "name">, now: number): Promise<void> {
    await this.#openForWrite(shardOfEntity(id) ?? 0);
    this.#entities.insert(newEntity(id, write, null, now), null);
  }

  /** Changes an entity. `now` in ms. @returns false when there is none. */
  async writeEntity(id: string, write: Omit<EntityWrite, "name">, now: number): Promise<boolean> {
    const found = await this.#good(id);
    if (found) this.#entities.update(found, changedEntity(found.entity, write, now));
    return found !== null;
  }

  /** Deletes entities, also those that were tampered with. Safe to repeat. @returns the aliases that they had. */
  async deleteEntities(ids: readonly string[]): Promise<AliasRecord[]> {
    await this.keys.open();
    return ids.flatMap((id) => {
      const found = this.#entities.byId(id);
      if (found !== null) this.#entities.delete(id);
      if (!isGood(found)) return [];
      const { aliases, reserved } = found.entity;
      return [...aliases, ...reserved].map((alias) => aliasRecord(found.entity, alias));
    });
  }

  /** Takes over what the directory says about entities, unless it has said something newer. Safe to repeat. */
  async putDirectoryEntries(entries: readonly DirectoryEntry[], version: number): Promise<void> {
    await this.keys.open();
    for (const { entityId, name, groupIds } of entries) {
      const found = this.#entities.byId(entityId);
      if (isGood(found) && found.directoryVersion < version) {
        this.#entities.update(found, { ...found.entity, name, groupIds }, version);
      }
    }
  }

  /** Who may have an alias, in the shard that its name leads to. */
  aliasHolder(place: AliasPlace): Holder | null {
    return this.#index.holder(place);
  }

  /** The alias of an entity to which its name leads, see `followed`; null when the entity does not have it. */
  async aliasAt(entityId: string, place: AliasPlace): Promise<AliasRecord | null> {
    const found = await this.#good(entityId);
    const entity = found && followed(found.entity, place);
    if (!entity) return null;
    if (entity !== found.entity) this.#entities.update(found, entity);
    const alias = aliasAt(entity, place);
    return alias && aliasRecord(entity, alias);
  }

  /** The alias with an id that this shard drew; null when there is none. */
  async readAlias(id: string): Promise<AliasOrMoved | null> {
    await this.keys.open();
    return this.#index.byId(id);
  }

  /** At most `limit` aliases with ids that this shard drew, after the id `after`, in their order. */
  async listAliases(after: string, limit: number): Promise<AliasOrMoved[]> {
    await this.keys.open();
    return this.#index.list(after, limit);
  }

  /**
   * The first of three steps by which an entity gets an alias: keeps it, hidden, until `activateAlias`.
   *
   * @param instead the name under which the entity has the alias until then; null for one that it does not have.
   * @returns "changed" when there is no such entity, or it does not have the alias so; "another" when it has another one on the mount.
   */
  async reserveAlias(
    entityId: string,
    alias: EntityAlias,
    instead: AliasPlace | null,
  ): Promise<Result<"reserved" | "changed" | "another">> {
    const found = await this.#good(entityId);
    const isAsSeen = !instead || (found && aliasAt(found.entity, instead)?.id === alias.id);
    if (!found || !isAsSeen) return ok("changed");
    const entity = withReserved(found.entity, alias);
    if (!entity) return ok("another");
    const written = this.#update(found, entity);
    return written.ok ? ok("reserved") : written;
  }

  /** The second step, in the shard that the name of the alias leads to; see `AliasIndex.claim`. */
  async claimAlias(place: AliasPlace, entityId: string, instead: Holder | null): Promise<Holder | null> {
    await this.#openForWrite(shardOfAlias(place));
    return this.#index.claim(place, entityId, instead);
  }

  /** The third step: the alias is the entity's from now on. @returns false when it is not reserved any more. Safe to repeat. */
  async activateAlias(entityId: string, aliasId: string): Promise<boolean> {
    const found = await this.#good(entityId);
    if (!found) return false;
    const entity = withActivated(found.entity, aliasId);
    if (entity) this.#entities.update(found, entity);
    return entity !== null || found.entity.aliases.some(({ id }) => id === aliasId);
  }

  /** Takes an alias from an entity, whether it has it or it is reserved. @returns false when it has not. */
  async dropAlias(entityId: string, aliasId: string): Promise<boolean> {
    const found = await this.#good(entityId);
    if (found) this.#entities.update(found, withoutAlias(found.entity, aliasId));
    return found !== null && [...found.entity.aliases, ...found.entity.reserved].some(({ id }) => id === aliasId);
  }

  /** Undoes the first step. Safe to repeat. */
  async dropReservedAlias(entityId: string, aliasId: string): Promise<void> {
    const found = await this.#good(entityId);
    if (found) this.#entities.update(found, withoutReserved(found.entity, aliasId));
  }

  /** Drops the pointer from the name of an alias to an entity, in the shard that the name leads to. Safe to repeat. */
  releaseAlias(place: AliasPlace, entityId: string): void {
    this.#index.release(place, entityId);
  }

  /** The entities with this policy in themselves, among the first of a bounded number. */
  async withPolicy(policy: string): Promise<PolicyHolders> {
    await this.keys.open();
    const found = this.#entities.withPolicy(policy, MAX_SEARCHED);
    const isMore = this.#entities.count(MAX_SEARCHED + 1) > MAX_SEARCHED;
    return holdersOf(
      found.map((entity) => recordOf(entity).name),
      isMore,
    );
  }

  /** At most `limit` ids of entities that may have the part in the name of an alias which leads here. Reads all names. */
  searchAliases(part: NamePart, limit: number): string[] {
    return this.#index.search(part, limit);
  }

  /** Those of the ids for which the shard has an entity with the part: see `AliasIndex.havingPart`. */
  async havingPart(ids: readonly string[], part: NamePart): Promise<string[]> {
    await this.keys.open();
    return this.#index.havingPart(ids, part);
  }

  #logIn(found: StoredEntity, place: AliasPlace, metadata: Metadata | null, now: number): Result<EntityState | null> {
    const entity = afterLogin(found.entity, place, metadata, now);
    if (!entity) return ok(null);
    const written = entity === found.entity ? ok(found) : this.#update(found, entity);
    return written.ok ? stateOrDenied(written.value) : written;
  }

  #update(found: StoredEntity, entity: Entity): Result<StoredEntity> {
    return isTooLarge(entity) ? err(TOO_LARGE) : ok(this.#entities.update(found, entity));
  }

  async #find(id: string): Promise<FoundEntity> {
    await this.keys.open();
    return this.#entities.byId(id);
  }

  async #good(id: string): Promise<StoredEntity | null> {
    const found = await this.#find(id);
    return isGood(found) ? found : null;
  }

  /** Lists this shard in the directory before its first row. */
  async #openForWrite(number: number): Promise<void> {
    await this.keys.open();
    if (!this.tables.exist) await identityOf(this.env).admitShard(number);
  }
}

function isGood(found: FoundEntity): found is StoredEntity {
  return found !== null && found !== "tampered";
}

function stateOrDenied(found: StoredEntity): Result<EntityState> {
  const state = stateOf(found);
  return state ? ok(state) : err(DENIED);
}
