import { DurableObject } from "cloudflare:workers";
import type { Failure } from "../base/errors.ts";
import { within } from "../base/location.ts";
import type { Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { RowSeals } from "../storage/row-seals.ts";
import { Schema } from "../storage/schema.ts";
import { checkSeals, NOTHING_TO_CHECK, type SealPosition, type SealStep } from "../storage/seal-check.ts";
import { ObjectKeys } from "../system/object-keys.ts";
import { AliasStore } from "./alias-store.ts";
import { type WrittenAlias, writeAlias } from "./alias-writes.ts";
import { type EntityRow, EntityStore } from "./entity-store.ts";
import { writeEntity } from "./entity-writes.ts";
import { GroupAliasStore } from "./group-alias-store.ts";
import { writeGroupAlias } from "./group-alias-writes.ts";
import { type GroupRow, GroupStore } from "./group-store.ts";
import { writeGroup } from "./group-writes.ts";
import { HandedOverStore } from "./handed-over-store.ts";
import { type Changer, Lending } from "./lending.ts";
import { logIn } from "./login-writes.ts";
import type {
  AliasPlace,
  AliasRecord,
  AliasWrite,
  EntityRecord,
  EntityWrite,
  GroupAliasRecord,
  GroupAliasWrite,
  GroupRecord,
  GroupsAnswer,
  GroupWrite,
  HandedOver,
  LentEntity,
  Metadata,
  NewEntityIds,
  NewGroupIds,
  OwnEntity,
  OwnEntityState,
  Written,
} from "./model.ts";
import { entityRecord, groupRecord } from "./records.ts";
import { IDENTITY_MIGRATIONS } from "./schema.ts";
import type { IdentityTables } from "./tables.ts";
import { ownEntity } from "./view.ts";

/** How a request names an entity or a group. */
export type IdOrName = { readonly id: string } | { readonly name: string };

/** How a request names an entity to look up. */
export type EntityKey =
  | IdOrName
  | { readonly aliasId: string }
  | { readonly aliasName: string; readonly mountAccessor: string };

/** An entity after a login, with all groups that it is in. */
export interface LoggedIn {
  readonly entity: OwnEntityState;
  readonly groups: GroupsAnswer;
}

/**
 * The object of an installation that knows the entities that operators write, their aliases, and groups. Every rule that compares
 * with what exists is decided here, in one step with the write. The entities that nobody but logins has written are in shards
 * (`shard/entity-shard.ts`); `entities.ts` finds the one that has an entity.
 *
 * Isolates ask shards for entities, and this object for groups only. A shard has a copy of each entity that it was asked for, and
 * before a change of an entity its copy is recalled: a copy that a shard has is true.
 */
export class Identity extends DurableObject<Env> {
  readonly #entities: EntityStore;
  readonly #aliases: AliasStore;
  readonly #groups: GroupStore;
  readonly #groupAliases: GroupAliasStore;
  readonly #handedOver: HandedOverStore;
  readonly #lending: Lending;
  readonly #schema: Schema;
  readonly #keys: ObjectKeys;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    this.#keys = new ObjectKeys(env);
    const seals = new RowSeals(ctx.id.toString(), () => this.#keys.get());
    this.#lending = new Lending(env, ctx.storage);
    const { notes } = this.#lending;
    this.#entities = new EntityStore(sql, seals, notes);
    this.#aliases = new AliasStore(sql, seals, notes);
    this.#groups = new GroupStore(sql, seals, notes);
    this.#groupAliases = new GroupAliasStore(sql, seals);
    this.#handedOver = new HandedOverStore(sql);
    this.#schema = new Schema(sql, IDENTITY_MIGRATIONS);
  }

  /** Lists a shard of entities that is about to write. @returns whether there can be aliases from before there were shards. */
  admitShard(number: number): boolean {
    this.#schema.create();
    return this.#handedOver.admit(number);
  }

  /** Numbers of the shards of entities that have ever written. */
  shards(): number[] {
    return this.#schema.exists ? this.#handedOver.shards() : [];
  }

  /** True when there is an alias with this name on this mount here, also one that was tampered with. */
  hasAlias(mountAccessor: string, name: string): boolean {
    return this.#schema.exists && this.#aliases.isTaken(mountAccessor, name);
  }

  /** Takes an entity over from its shard. Taken once: told again, it may have been changed or deleted here. */
  async adopt({ id, name, createdAt, alias }: HandedOver): Promise<void> {
    await this.#change(() => {
      if (!this.#handedOver.note(id)) return;
      this.#entities.insert(id, name, { metadata: null, policies: null, disabled: null }, createdAt);
      this.#aliases.write(alias);
    });
  }

  /** How many entities there are here, counted up to `most`. */
  countEntities(most: number): number {
    return this.#schema.exists ? this.#entities.count(most) : 0;
  }

  /**
   * Gives an entity to the shard that isolates ask for it; null when there is none (any more), or when something of it was tampered
   * with: without the alias or the group in question, what its policies deny would be granted by others.
   *
   * @param now ms.
   */
  async lendEntity(id: string, now: number): Promise<LentEntity | null> {
    await this.#keys.open();
    const row = this.#schema.exists ? this.#entities.byId(id) : null;
    const entity = row && this.#own(row);
    if (!entity) return null;
    return { entity, mayKeep: this.#lending.lend(id, now) };
  }

  /**
   * Groups with all that they are in.
   *
   * @param known the state of all groups that the caller knows; null for none.
   * @param missing those of `ids` that it does not know in that state. It gets these while that is the state, and else all.
   */
  async groupsAbove(ids: readonly string[], missing: readonly string[], known: number | null): Promise<GroupsAnswer> {
    await this.#keys.open();
    if (!this.#schema.exists) return { state: 0, groups: [] };
    const state = this.#groups.revision();
    return { state, groups: this.#groups.above(state === known ? missing : ids) };
  }

  /**
   * The entity that has the alias, made with it when nobody has. Only for aliases of which their shard says that they are here.
   *
   * @param metadata what the auth method says about the alias; null when it says nothing.
   * @param groups names of the groups that it says the holder is in; null when it knows no groups.
   * @param now ms.
   * @returns null when something of it was tampered with: to make a new entity instead would be a way around what it denies.
   */
  async logIn(
    mountAccessor: string,
    name: string,
    metadata: Metadata | null,
    groups: readonly string[] | null,
    ids: NewEntityIds,
    now: number,
  ): Promise<LoggedIn | null> {
    return this.#change(() => {
      const entityId = logIn(this.#tables, { mountAccessor, name }, metadata, groups, ids, now);
      const row = entityId === null ? null : this.#entities.byId(entityId);
      const own = row && this.#own(row);
      if (!own) return null;
      return {
        entity: { ...own, revision: crypto.randomUUID() },
        groups: { state: this.#groups.revision(), groups: this.#groups.above(own.groupIds) },
      };
    }, "login");
  }

  /**
   * Creates or changes an entity. With an id it must exist; a name finds the entity that has it.
   *
   * @param newName the name for a new entity that is given none.
   * @param now ms.
   */
  async writeEntity(
    id: string | null,
    write: EntityWrite,
    newId: string,
    newName: string,
    now: number,
  ): Promise<Result<Written, Failure>> {
    return this.#change(() => writeEntity(this.#entities, id, write, newId, newName, now));
  }

  /** The entity with this id, name or alias, with its groups. null when there is none. */
  async readEntity(key: EntityKey): Promise<EntityRecord | null> {
    await this.#keys.open();
    const row = this.#schema.exists ? this.#findEntity(key) : null;
    if (!row) return null;
    return entityRecord(row, this.#aliases.ofEntities([row.id]), this.#groups.ofEntity(row.id));
  }

  /** Deletes entities with their aliases. Safe to repeat. */
  async deleteEntities(keys: readonly IdOrName[]): Promise<void> {
    if (!this.#schema.exists) return;
    await this.#change(() => {
      for (const key of keys) {
        const id = "id" in key ? key.id : this.#entities.idOfName(key.name);
        if (id === null) continue;
        this.#aliases.deleteOfEntity(id);
        this.#groups.members.forgetEntity(id);
        this.#entities.delete(id);
      }
    });
  }

  /** At most `limit` entities with their aliases (and without their groups) after `after`, an id or a name. */
  async listEntities(order: "id" | "name", after: string, limit: number): Promise<EntityRecord[]> {
    await this.#keys.open();
    if (!this.#schema.exists) return [];
    const rows = this.#entities.list(order, after, limit);
    const aliases = this.#aliases.ofEntities(rows.map((row) => row.id));
    const byEntity = Map.groupBy(aliases, (alias) => alias.entityId);
    return rows.map((row) => entityRecord(row, byEntity.get(row.id) ?? [], []));
  }

  /**
   * Creates or changes an alias. Without an id, the alias with this name on this mount is meant.
   *
   * @param ids for a new alias, and for a new entity when none is given.
   * @param place of the alias afterwards, of which its shard says that it is here; null when the write is refused in any case.
   * @param now ms.
   * @returns "other place" when it would have another place.
   */
  async writeAlias(
    id: string | null,
    write: AliasWrite,
    ids: NewEntityIds,
    place: AliasPlace | null,
    now: number,
  ): Promise<Result<WrittenAlias | "other place", Failure>> {
    return this.#change(() => writeAlias(this.#tables, id, write, ids, place, now));
  }

  /** The alias with this id, or null. */
  async readAlias(id: string): Promise<AliasRecord | null> {
    await this.#keys.open();
    return this.#schema.exists ? this.#aliases.byId(id) : null;
  }

  /** Deletes an alias. Safe to repeat. */
  async deleteAlias(id: string): Promise<void> {
    if (this.#schema.exists) await this.#change(() => this.#aliases.delete(id));
  }

  /** At most `limit` aliases after the id `after`. */
  async listAliases(after: string, limit: number): Promise<AliasRecord[]> {
    await this.#keys.open();
    return this.#schema.exists ? this.#aliases.list(after, limit) : [];
  }

  /**
   * Creates or changes a group. With an id it must exist; a name finds the group that has it.
   *
   * @param newName the name for a new group that is given none.
   * @param now ms.
   */
  async writeGroup(
    id: string | null,
    write: GroupWrite,
    newId: string,
    newName: string,
    now: number,
  ): Promise<Result<Written, Failure>> {
    return this.#change(() => writeGroup(this.#tables, id, write, newId, newName, now));
  }

  /** The group with this id or name, with its members and parents. null when there is none. */
  async readGroup(key: IdOrName): Promise<GroupRecord | null> {
    await this.#keys.open();
    const row = this.#schema.exists ? this.#findGroup(key) : null;
    return row && groupRecord(row, this.#groups, this.#groupAliases);
  }

  /** Deletes a group; its members stay. Safe to repeat. */
  async deleteGroup(key: IdOrName): Promise<void> {
    if (!this.#schema.exists) return;
    await this.#change(() => {
      const id = "id" in key ? key.id : this.#groups.idOfName(key.name);
      if (id === null) return;
      this.#groupAliases.deleteOfGroup(id);
      this.#groups.delete(id);
    });
  }

  /** At most `limit` groups after `after`, an id or a name. */
  async listGroups(order: "id" | "name", after: string, limit: number): Promise<GroupRecord[]> {
    await this.#keys.open();
    return this.#schema.exists
      ? this.#groups.list(order, after, limit).map((row) => groupRecord(row, this.#groups, this.#groupAliases))
      : [];
  }

  /**
   * Creates or changes a group alias.
   *
   * @param ids for a new alias, and for a new external group when none is named.
   * @param now ms.
   * @returns null when nothing changes.
   */
  async writeGroupAlias(
    id: string | null,
    write: GroupAliasWrite,
    ids: NewGroupIds,
    now: number,
  ): Promise<Result<GroupAliasRecord | null, Failure>> {
    return this.#change(() => writeGroupAlias(this.#tables, id, write, ids, now));
  }

  /** A group alias by its id, or by its name on a mount; null when there is none. */
  async readGroupAlias(
    key: { readonly id: string } | { readonly name: string; readonly mountAccessor: string },
  ): Promise<GroupAliasRecord | null> {
    await this.#keys.open();
    if (!this.#schema.exists) return null;
    return "id" in key ? this.#groupAliases.byId(key.id) : this.#groupAliases.byName(key.mountAccessor, key.name);
  }

  /** Deletes a group alias; nobody is in its group any more. Safe to repeat. */
  async deleteGroupAlias(id: string): Promise<void> {
    if (!this.#schema.exists) return;
    await this.#change(() => {
      const alias = this.#groupAliases.byId(id);
      this.#groupAliases.delete(id);
      if (alias) this.#groups.removeEntities(alias.groupId);
    });
  }

  /** At most `limit` group aliases after the id `after`. */
  async listGroupAliases(after: string, limit: number): Promise<GroupAliasRecord[]> {
    await this.#keys.open();
    return this.#schema.exists ? this.#groupAliases.list(after, limit) : [];
  }

  /** Checks the seals of some rows, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    if (!this.#schema.exists) return NOTHING_TO_CHECK;
    await this.#keys.open();
    const { members } = this.#groups;
    const stores = [this.#entities, this.#aliases, this.#groups, this.#groupAliases];
    return checkSeals([...stores.map(({ sealed }) => sealed), members.entities, members.groups], from);
  }

  get #tables(): IdentityTables {
    return {
      entities: this.#entities,
      aliases: this.#aliases,
      groups: this.#groups,
      groupAliases: this.#groupAliases,
    };
  }

  #findEntity(key: EntityKey): EntityRow | null {
    if ("id" in key) return this.#entities.byId(key.id);
    if ("name" in key) return this.#entities.byName(key.name);
    const alias =
      "aliasId" in key ? this.#aliases.byId(key.aliasId) : this.#aliases.byName(key.mountAccessor, key.aliasName);
    return alias && this.#entities.byId(alias.entityId);
  }

  #findGroup(key: IdOrName): GroupRow | null {
    return "id" in key ? this.#groups.byId(key.id) : this.#groups.byName(key.name);
  }

  /** null when something of it was tampered with. */
  #own(row: EntityRow): OwnEntity | null {
    const aliases = this.#aliases.ofEntity(row.id);
    const { groupIds, tampered } = this.#groups.members.ofEntity(row.id);
    return aliases && !tampered ? ownEntity(row, aliases, groupIds) : null;
  }

  /** Makes a change, see `Lending.change`. */
  async #change<T>(write: () => T, changer: Changer = "operator"): Promise<T> {
    await this.#keys.open();
    this.#schema.create();
    return this.#lending.change(write, changer);
  }
}

/** The identity object of the installation. */
export function identityOf(env: Env): DurableObjectStub<Identity> {
  return within(env, env.IDENTITY).getByName("identity");
}
