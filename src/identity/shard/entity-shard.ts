import type { Ms } from "../../base/clock.ts";
import type { CallAttempt } from "../../base/lost-call-retry.ts";
import { NOT_FOUND, ok, type Result } from "../../base/result.ts";
import { type PolicyUsage, usageOf } from "../../policy/usage.ts";
import { Tables } from "../../storage/tables.ts";
import { GroveObject } from "../../system/grove-object.ts";
import type { IdentityEnv } from "../env.ts";
import type {
  AliasMetadata,
  AliasPlace,
  AliasRecord,
  DirectoryEntry,
  EntityAlias,
  EntityMetadata,
  EntityRecord,
  EntityState,
  EntityWrite,
  MergedInto,
} from "../model.ts";
import { identityOf } from "../stubs.ts";
import { AliasList, type AliasOrMoved } from "./alias-list.ts";
import { AliasOwners } from "./alias-owners.ts";
import { type AliasOwner, AliasPointers } from "./alias-pointers.ts";
import { allAliasesOf, isSameWrite, type WrittenAliasFields } from "./alias-rules.ts";
import { changedEntity, entityStateOf, newEntity, recordOf } from "./entity.ts";
import { EntityAliases } from "./entity-aliases.ts";
import { havingPart, mayHavePart, type NamePart } from "./entity-search.ts";
import { EntityStore, isGood } from "./entity-store.ts";
import { Logins } from "./logins.ts";
import { MERGED_MIGRATIONS, MergedStore } from "./merged-store.ts";
import { Merges } from "./merges.ts";
import { shardOfAlias, shardOfEntity } from "./sharding.ts";
import { ENTITY_SHARD_MIGRATIONS } from "./tables.ts";

/** Maximum number of rows that a search without an index reads: a few ms of the object's thread. */
const MAX_SEARCHED = 5000;

/** An entity that was deleted, or merged into another one (null: deleted). */
export interface AbsentEntity {
  readonly id: string;
  readonly mergedInto: string | null;
}

/** What a deleted entity leaves behind in other objects. */
interface DeletedEntity {
  readonly id: string;
  /** Its aliases, reserved ones included. */
  readonly aliases: readonly AliasRecord[];
  readonly mergedIds: readonly string[];
}

/**
 * One of the objects that store the entities. The id of an entity begins with the number of its shard, which is its
 * home. A login creates its entity in the shard that the name of the alias leads to, so that a first login is one
 * transaction in one object. For other aliases, the shard of the name has a pointer to the entity.
 */
export class EntityShard extends GroveObject<IdentityEnv> {
  readonly #entities = new EntityStore(this.tables, this.seals);
  readonly #pointers = new AliasPointers(this.tables);
  readonly #owners = new AliasOwners(this.#entities, this.#pointers);
  readonly #logins = new Logins(this.#entities, this.#owners, this.#pointers);
  readonly #aliases = new EntityAliases(this.#entities);
  readonly #aliasList = new AliasList(this.#entities, this.#owners, this.#pointers);
  readonly #merged = new MergedStore(new Tables(this.ctx.storage.sql, MERGED_MIGRATIONS, "merged"), this.seals);
  readonly #merges = new Merges(this.#entities, this.#merged);

  constructor(ctx: DurableObjectState, env: IdentityEnv) {
    super(ctx, env, ENTITY_SHARD_MIGRATIONS);
  }

  /**
   * Returns the entity that the name of an alias leads to, after a login. Creates it when there is none, with the id
   * `newId`, which is of this shard.
   * @param instead a holder that the caller found not to have the alias. Its pointer is deleted first.
   * @returns `holder` when the name leads to the entity by a pointer: call `logInto` of its shard. "permission_denied"
   *   when the entity was tampered with, since a new entity would bypass what its policies deny.
   */
  async logIn(
    place: AliasPlace,
    given: AliasMetadata,
    newId: string,
    instead: AliasOwner | null,
    now: Ms,
  ): Promise<Result<{ readonly state: EntityState } | { readonly holder: AliasOwner }>> {
    await this.#openForWrite(shardOfAlias(place));
    return this.#logins.logIn(place, given, newId, instead, now);
  }

  /** Like `logIn`, for the entity that a pointer leads to; null when it does not have the alias. */
  async logInto(
    id: string,
    place: AliasPlace,
    metadata: EntityMetadata | null,
    now: Ms,
  ): Promise<Result<EntityState | null>> {
    await this.keys.open();
    return this.#logins.logInto(id, place, metadata, now);
  }

  /**
   * Returns an entity as requests need it, or the id of the entity into which it was merged; null when it does not
   * exist (any more) or was tampered with.
   */
  async entity(id: string): Promise<EntityState | MergedInto | null> {
    await this.keys.open();
    const found = this.#entities.byId(id);
    if (found === null) {
      const mergedInto = this.#merged.targetOf(id);
      return mergedInto === null ? null : { mergedInto };
    }
    return isGood(found) ? entityStateOf(found.entity, found.revision) : null;
  }

  /** True for an entity that is stored, and that `entity` does not return because a row about it was tampered with. */
  async isTampered(id: string): Promise<boolean> {
    await this.keys.open();
    const found = this.#entities.byId(id);
    return found !== null && (!isGood(found) || entityStateOf(found.entity, found.revision) === null);
  }

  /** Returns an entity by its id, or null. */
  async readEntity(id: string): Promise<EntityRecord | null> {
    await this.keys.open();
    const found = this.#entities.good(id);
    return found && recordOf(found.entity);
  }

  /**
   * Returns at most `limit` entities with ids from `first` on, by id. Order "name": only those without a given name.
   */
  async listEntities(order: "id" | "name", first: string, limit: number): Promise<EntityRecord[]> {
    await this.keys.open();
    return this.#entities.list(first, limit, order === "name").map(recordOf);
  }

  /** Counts the entities, up to `most`. */
  countEntities(most: number): number {
    return this.#entities.count(most);
  }

  /** Returns the ids of `ids` that belong to entities. */
  async existing(ids: readonly string[]): Promise<string[]> {
    await this.keys.open();
    return ids.filter((id) => isGood(this.#entities.byId(id)));
  }

  /** Creates an entity without an alias. `id` is a new one, in this shard. */
  async createEntity(id: string, write: Omit<EntityWrite, "name">, now: Ms, attempt: CallAttempt = {}): Promise<void> {
    await this.#openForWrite(shardOfEntity(id) ?? 0);
    this.carriedOut.once(attempt, () => {
      this.#entities.insert(newEntity(id, write, null, now), null);
      return ok(null);
    });
  }

  /** Changes an entity. @returns false when there is none. */
  async writeEntity(
    id: string,
    write: Omit<EntityWrite, "name">,
    now: Ms,
    attempt: CallAttempt = {},
  ): Promise<boolean> {
    await this.keys.open();
    const found = this.#entities.good(id);
    const written = this.carriedOut.once(attempt, () => {
      if (!found) return NOT_FOUND;
      this.#entities.update(found, changedEntity(found.entity, write, now));
      return ok(null);
    });
    return written.ok;
  }

  /** Deletes entities, also tampered ones. Safe to repeat. @returns what other objects still have about them. */
  async deleteEntities(ids: readonly string[]): Promise<DeletedEntity[]> {
    await this.keys.open();
    return ids.flatMap((id) => {
      const found = this.#entities.byId(id);
      if (found !== null) this.#entities.delete(id);
      if (found === null) return [];
      if (!isGood(found)) return [{ id, aliases: [], mergedIds: [] }];
      return [{ id, aliases: allAliasesOf(found.entity), mergedIds: found.entity.mergedIds }];
    });
  }

  /** Adds ids to the `mergedIds` of an entity. Safe to repeat. @returns false when the entity does not exist. */
  async addMerged(id: string, mergedIds: readonly string[]): Promise<boolean> {
    await this.keys.open();
    return this.#merges.add(id, mergedIds);
  }

  /** Undoes `addMerged` for ids that were not merged after all. Safe to repeat. */
  async removeMerged(id: string, mergedIds: readonly string[]): Promise<void> {
    await this.keys.open();
    this.#merges.remove(id, mergedIds);
  }

  /**
   * Replaces an entity by the note that it was merged into another one, in one transaction.
   * @param leaving the aliases that end with the entity, as the caller read them.
   * @returns all its aliases; null when it does not exist. `merged` is false, and nothing is changed, when it has an
   *   alias that is not in `leaving`, or a reserved one.
   */
  async mergeInto(
    id: string,
    target: string,
    leaving: readonly AliasRecord[],
  ): Promise<{ readonly merged: boolean; readonly aliases: AliasRecord[] } | null> {
    await this.keys.open();
    return this.#merges.mergeInto(id, target, leaving);
  }

  /** Makes merged entities lead to `target`; skips others. Safe to repeat. @returns the ids of the merged entities. */
  async redirectMerged(ids: readonly string[], target: string): Promise<string[]> {
    await this.keys.open();
    return this.#merges.redirect(ids, target);
  }

  /** Returns the ids of `ids` whose entities were merged into `target`. */
  async mergedAmong(ids: readonly string[], target: string): Promise<string[]> {
    await this.keys.open();
    return this.#merges.among(ids, target);
  }

  /** Forgets entities that were merged into deleted ones. Safe to repeat. */
  dropMerged(ids: readonly string[], targets: readonly string[]): void {
    this.#merged.drop(ids, targets);
  }

  /**
   * Stores the directory's entries about entities, unless the shard has a newer version. Safe to repeat.
   * @returns the entities that do not exist any more.
   */
  async putDirectoryEntries(entries: readonly DirectoryEntry[], version: number): Promise<AbsentEntity[]> {
    await this.keys.open();
    const absent: AbsentEntity[] = [];
    for (const { entityId, name, groupIds } of entries) {
      const found = this.#entities.byId(entityId);
      if (found === null) absent.push({ id: entityId, mergedInto: this.#merged.targetOf(entityId) });
      if (isGood(found) && found.directoryVersion < version) {
        this.#entities.update(found, { ...found.entity, name, groupIds }, version);
      }
    }
    return absent;
  }

  /** Returns the entity that may have an alias. Call it in the shard that the name of the alias leads to. */
  aliasHolder(place: AliasPlace): AliasOwner | null {
    return this.#owners.holder(place);
  }

  /** Returns an alias whose name leads to this entity, or null. Activates a reserved alias, see `followed`. */
  async aliasAt(entityId: string, place: AliasPlace): Promise<AliasRecord | null> {
    await this.keys.open();
    return this.#aliases.follow(entityId, place);
  }

  /** Returns the alias with an id that was generated for an entity of this shard; null when there is none. */
  async readAlias(id: string): Promise<AliasOrMoved | null> {
    await this.keys.open();
    return this.#aliasList.find(id);
  }

  /** Returns at most `limit` aliases after the id `after`, in order, with ids generated for entities of this shard. */
  async listAliases(after: string, limit: number): Promise<AliasOrMoved[]> {
    await this.keys.open();
    return this.#aliasList.page(after, limit);
  }

  /**
   * First of the three steps that give an entity an alias: stores it as reserved, hidden until `activateAlias`.
   * @param instead the alias that it replaces, as the caller read it, if the entity has the alias already; else null.
   * @returns "changed" when the entity does not exist, or no longer has the alias as in `instead`; "another" when it has
   *   another alias on the mount. A refusal (400) when the aliases become too large.
   */
  async reserveAlias(
    entityId: string,
    alias: EntityAlias,
    instead: WrittenAliasFields | null,
  ): Promise<Result<"reserved" | "changed" | "another">> {
    await this.keys.open();
    return this.#aliases.reserve(entityId, alias, instead);
  }

  /** Second step, in the shard that the name of the alias leads to; see `AliasOwners.claim`. */
  async claimAlias(place: AliasPlace, entityId: string, instead: AliasOwner | null): Promise<AliasOwner | null> {
    await this.#openForWrite(shardOfAlias(place));
    return this.#owners.claim(place, entityId, instead);
  }

  /**
   * Third step: activates the reserved alias. Safe to repeat. @returns false when it is not reserved any more.
   * @param reserved the alias as the caller has reserved it: another write may have reserved it otherwise since. A Worker
   *   of 1.0.0-rc.1 does not say.
   */
  async activateAlias(entityId: string, aliasId: string, reserved?: WrittenAliasFields): Promise<boolean> {
    await this.keys.open();
    return this.#aliases.activate(entityId, (one) => (reserved ? isSameWrite(one, reserved) : one.id === aliasId));
  }

  /**
   * Removes an alias, active or reserved, from an entity. @returns false when the entity does not have it.
   * @param asRead the alias as the caller read it, if a later write of it must stay: then the answer is false.
   */
  async dropAlias(
    entityId: string,
    aliasId: string,
    attempt: CallAttempt = {},
    asRead?: WrittenAliasFields,
  ): Promise<boolean> {
    await this.keys.open();
    const drop = () => (this.#aliases.drop(entityId, aliasId, asRead) ? ok(null) : NOT_FOUND);
    return this.carriedOut.once(attempt, drop).ok;
  }

  /** Undoes the first step. Safe to repeat. */
  async dropReservedAlias(entityId: string, aliasId: string): Promise<void> {
    await this.keys.open();
    this.#aliases.dropReserved(entityId, aliasId);
  }

  /**
   * Deletes the pointer from an alias name to an entity, in the shard that the name leads to.
   * @param seen only the pointer that the caller has seen: a later write may have made another to the same entity.
   */
  releaseAlias(place: AliasPlace, entityId: string, attempt: CallAttempt = {}, seen?: AliasOwner): void {
    const release = () => (seen ? this.#pointers.drop(place, seen) : this.#pointers.release(place, entityId));
    this.deleteOnce(attempt, release);
  }

  /** Returns the entities that have this policy themselves, among the first `MAX_SEARCHED`. */
  async withPolicy(policy: string): Promise<PolicyUsage> {
    await this.keys.open();
    const names = this.#entities.withPolicy(policy, MAX_SEARCHED).map((entity) => recordOf(entity).name);
    return usageOf(names, this.#entities.count(MAX_SEARCHED + 1) > MAX_SEARCHED);
  }

  /** Returns at most `limit` ids of entities that may have the part in an id or alias name: pointers can be stale. */
  searchAliases(part: NamePart, limit: number): string[] {
    return mayHavePart(this.tables, part, limit);
  }

  /** Returns the ids of `ids` whose entities have the part in their ids or in the names of their aliases. */
  async havingPart(ids: readonly string[], part: NamePart): Promise<string[]> {
    await this.keys.open();
    return havingPart(this.#entities, ids, part);
  }

  /** Opens the keys, and registers this shard in the directory before its first row. */
  async #openForWrite(number: number): Promise<void> {
    await this.keys.open();
    if (!this.tables.exist) await identityOf(this.env).admitShard(number);
  }
}
