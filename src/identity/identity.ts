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
import { logIn } from "./login-writes.ts";
import type {
  AliasPlace,
  AliasRecord,
  AliasWrite,
  EntityRecord,
  EntityView,
  EntityWrite,
  GroupAliasRecord,
  GroupAliasWrite,
  GroupRecord,
  GroupWrite,
  HandedOver,
  Metadata,
  NewEntityIds,
  NewGroupIds,
  Written,
} from "./model.ts";
import { entityRecord, groupRecord } from "./records.ts";
import { IDENTITY_MIGRATIONS } from "./schema.ts";
import type { IdentityTables } from "./tables.ts";
import { entityView } from "./view.ts";

/** How a request names an entity or a group. */
export type IdOrName = { readonly id: string } | { readonly name: string };

/** How a request names an entity to look up. */
export type EntityKey =
  | IdOrName
  | { readonly aliasId: string }
  | { readonly aliasName: string; readonly mountAccessor: string };

/** The answer to an isolate that knows a revision of an entity; "unchanged" when that is still true. */
export type ViewAnswer = EntityView | "unchanged" | null;

/**
 * The object of an installation that knows the entities that operators write, their aliases, and groups. Every rule that compares
 * with what exists is decided here, in one step with the write. The entities that nobody but logins has written are in shards
 * (`shard/entity-shard.ts`); `entities.ts` finds the one that has an entity.
 */
export class Identity extends DurableObject<Env> {
  readonly #entities: EntityStore;
  readonly #aliases: AliasStore;
  readonly #groups: GroupStore;
  readonly #groupAliases: GroupAliasStore;
  readonly #handedOver: HandedOverStore;
  readonly #schema: Schema;
  readonly #keys: ObjectKeys;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    this.#keys = new ObjectKeys(env);
    const seals = new RowSeals(ctx.id.toString(), () => this.#keys.get());
    this.#entities = new EntityStore(sql, seals);
    this.#aliases = new AliasStore(sql, seals);
    this.#groups = new GroupStore(sql, seals);
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
    await this.#keys.open();
    this.#schema.create();
    if (!this.#handedOver.note(id)) return;
    this.#entities.insert(id, name, { metadata: null, policies: null, disabled: null }, createdAt);
    this.#aliases.write(alias);
  }

  /** How many entities there are here, counted up to `most`. */
  countEntities(most: number): number {
    return this.#schema.exists ? this.#entities.count(most) : 0;
  }

  /**
   * What the entity adds to its tokens; null when there is none (any more), or when something of it was tampered with: without
   * the group or the alias in question, what its policies deny would be granted by others.
   */
  async view(id: string, known: string | null): Promise<ViewAnswer> {
    await this.#keys.open();
    const row = this.#schema.exists ? this.#entities.byId(id) : null;
    if (!row) return null;
    const revision = `${row.revision}.${this.#groups.revision()}`;
    return revision === known ? "unchanged" : this.#view(row, revision);
  }

  /**
   * The entity that has the alias, made with it when nobody has. Only for aliases of which their shard says that they are here: a
   * Worker of before there were shards must not be able to ask, so this has another name than it had then.
   *
   * @param metadata what the auth method says about the alias; null when it says nothing.
   * @param groups names of the groups that it says the holder is in; null when it knows no groups.
   * @param now ms.
   * @returns null when something of it was tampered with: to make a new entity instead would be a way around what it denies.
   */
  async login(
    mountAccessor: string,
    name: string,
    metadata: Metadata | null,
    groups: readonly string[] | null,
    ids: NewEntityIds,
    now: number,
  ): Promise<EntityView | null> {
    await this.#keys.open();
    this.#schema.create();
    const entityId = logIn(this.#tables, { mountAccessor, name }, metadata, groups, ids, now);
    if (entityId === null) return null;
    const row = this.#entities.byId(entityId);
    return row && this.#view(row, `${row.revision}.${this.#groups.revision()}`);
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
    await this.#keys.open();
    this.#schema.create();
    return writeEntity(this.#entities, id, write, newId, newName, now);
  }

  /** The entity with this id, name or alias, with its groups. null when there is none. */
  async readEntity(key: EntityKey): Promise<EntityRecord | null> {
    await this.#keys.open();
    const row = this.#schema.exists ? this.#findEntity(key) : null;
    if (!row) return null;
    return entityRecord(row, this.#aliases.ofEntities([row.id]), this.#groups.ofEntity(row.id).groups);
  }

  /** Deletes entities with their aliases. Safe to repeat. */
  deleteEntities(keys: readonly IdOrName[]): void {
    if (!this.#schema.exists) return;
    for (const key of keys) {
      const id = "id" in key ? key.id : this.#entities.idOfName(key.name);
      if (id === null) continue;
      this.#aliases.deleteOfEntity(id);
      this.#groups.members.forgetEntity(id);
      this.#entities.delete(id);
    }
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
    await this.#keys.open();
    this.#schema.create();
    return writeAlias(this.#tables, id, write, ids, place, now);
  }

  /** The alias with this id, or null. */
  async readAlias(id: string): Promise<AliasRecord | null> {
    await this.#keys.open();
    return this.#schema.exists ? this.#aliases.byId(id) : null;
  }

  /** Deletes an alias. Safe to repeat. */
  async deleteAlias(id: string): Promise<void> {
    await this.#keys.open();
    if (!this.#schema.exists) return;
    const alias = this.#aliases.byId(id);
    this.#aliases.delete(id);
    if (alias) this.#entities.touch(alias.entityId);
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
    await this.#keys.open();
    this.#schema.create();
    return writeGroup(this.#tables, id, write, newId, newName, now);
  }

  /** The group with this id or name, with its members and parents. null when there is none. */
  async readGroup(key: IdOrName): Promise<GroupRecord | null> {
    await this.#keys.open();
    const row = this.#schema.exists ? this.#findGroup(key) : null;
    return row && groupRecord(row, this.#groups, this.#groupAliases);
  }

  /** Deletes a group; its members stay. Safe to repeat. */
  deleteGroup(key: IdOrName): void {
    if (!this.#schema.exists) return;
    const id = "id" in key ? key.id : this.#groups.idOfName(key.name);
    if (id === null) return;
    this.#groupAliases.deleteOfGroup(id);
    this.#groups.delete(id);
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
    await this.#keys.open();
    this.#schema.create();
    return writeGroupAlias(this.#tables, id, write, ids, now);
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
    await this.#keys.open();
    if (!this.#schema.exists) return;
    const alias = this.#groupAliases.byId(id);
    this.#groupAliases.delete(id);
    if (alias) this.#groups.removeEntities(alias.groupId);
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

  #view(row: EntityRow, revision: string): EntityView | null {
    const aliases = this.#aliases.ofEntity(row.id);
    const { groups, tampered } = this.#groups.ofEntity(row.id);
    return aliases && !tampered ? entityView(row, revision, aliases, groups) : null;
  }
}

/** The identity object of the installation. */
export function identityOf(env: Env): DurableObjectStub<Identity> {
  return within(env, env.IDENTITY).getByName("identity");
}
