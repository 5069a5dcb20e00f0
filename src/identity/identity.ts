import { DurableObject } from "cloudflare:workers";
import { type Failure, invalid } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { Schema } from "../storage/schema.ts";
import { AliasStore, sameMetadata } from "./alias-store.ts";
import { addAlias, changeAlias, newAlias, type WrittenAlias } from "./alias-writes.ts";
import { type EntityRow, EntityStore } from "./entity-store.ts";
import { GroupAliasStore } from "./group-alias-store.ts";
import { writeGroupAlias } from "./group-alias-writes.ts";
import { type GroupRow, GroupStore } from "./group-store.ts";
import {
  type AliasRecord,
  type AliasWrite,
  type EntityRecord,
  type EntityView,
  type EntityWrite,
  EXTERNAL_GROUP,
  type GroupAliasRecord,
  type GroupAliasWrite,
  type GroupRecord,
  type GroupWrite,
  INTERNAL_GROUP,
  type Metadata,
  type NewEntityIds,
  type NewGroupIds,
} from "./model.ts";
import { entityRecord, groupRecord } from "./records.ts";
import { IDENTITY_MIGRATIONS } from "./schema.ts";
import { entityView } from "./view.ts";

/** How a request names an entity or a group. */
export type IdOrName = { readonly id: string } | { readonly name: string };

/** How a request names an entity to look up. */
export type EntityKey =
  | IdOrName
  | { readonly aliasId: string }
  | { readonly aliasName: string; readonly mountAccessor: string };

/** What came of a write. */
export interface Written {
  readonly id: string;
  readonly name: string;
  readonly created: boolean;
}

/** The answer to an isolate that knows a revision of an entity; "unchanged" when that is still true. */
export type ViewAnswer = EntityView | "unchanged" | null;

/**
 * The one object of an installation that knows entities, their aliases and groups. Requests read it through a cache of
 * their isolate; every rule that compares with what exists is decided here, in one step with the write.
 */
export class Identity extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #entities: EntityStore;
  readonly #aliases: AliasStore;
  readonly #groups: GroupStore;
  readonly #groupAliases: GroupAliasStore;
  readonly #schema: Schema;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#entities = new EntityStore(this.#sql);
    this.#aliases = new AliasStore(this.#sql);
    this.#groups = new GroupStore(this.#sql);
    this.#groupAliases = new GroupAliasStore(this.#sql);
    this.#schema = new Schema(this.#sql, IDENTITY_MIGRATIONS);
  }

  /** What the entity adds to its tokens; null when there is none (any more). */
  view(id: string, known: string | null): ViewAnswer {
    const row = this.#schema.exists ? this.#entities.byId(id) : null;
    if (!row) return null;
    const revision = `${row.revision}.${this.#groups.revision()}`;
    return revision === known ? "unchanged" : this.#view(row, revision);
  }

  /**
   * The entity that has the alias, made with it when nobody has.
   *
   * @param metadata what the auth method says about the alias; null when it says nothing.
   * @param groups names of the groups that it says the holder is in; null when it knows no groups.
   * @param now ms.
   */
  resolveAlias(
    mountAccessor: string,
    name: string,
    metadata: Metadata | null,
    groups: readonly string[] | null,
    ids: NewEntityIds,
    now: number,
  ): EntityView {
    this.#schema.create();
    const alias = this.#aliases.byName(mountAccessor, name);
    if (alias && metadata && !sameMetadata(alias.metadata, metadata)) {
      this.#aliases.write({ ...alias, metadata, updatedAt: now });
      this.#entities.touch(alias.entityId);
    }
    if (!alias) {
      this.#entities.insert(ids.entityId, ids.entityName, { metadata: null, policies: null, disabled: null }, now);
      this.#aliases.write(newAlias(ids, { name, mountAccessor, customMetadata: {}, metadata: metadata ?? {} }, now));
    }
    const entityId = alias?.entityId ?? ids.entityId;
    if (groups) this.#setExternalGroups(entityId, mountAccessor, groups);
    const row = this.#entities.byId(entityId);
    if (!row) throw new Error("an alias without its entity");
    return this.#view(row, `${row.revision}.${this.#groups.revision()}`);
  }

  /**
   * Creates or changes an entity. With an id it must exist; a name finds the entity that has it.
   *
   * @param newName the name for a new entity that is given none.
   * @param now ms.
   */
  writeEntity(
    id: string | null,
    write: EntityWrite,
    newId: string,
    newName: string,
    now: number,
  ): Result<Written, Failure> {
    const byId = id !== null && this.#schema.exists ? this.#entities.byId(id) : null;
    if (id !== null && !byId) return err(invalid("entity not found from id"));
    this.#schema.create();
    const byName = write.name === null ? null : this.#entities.byName(write.name);
    if (byId && byName && byName.id !== byId.id) return err(invalid("entity name is already in use"));
    const row = byId ?? byName;
    if (row) {
      this.#entities.update(row, write, now);
      return ok({ id: row.id, name: write.name ?? row.name, created: false });
    }
    const name = write.name ?? newName;
    this.#entities.insert(newId, name, write, now);
    return ok({ id: newId, name, created: true });
  }

  /** The entity with this id, name or alias, with its groups. null when there is none. */
  readEntity(key: EntityKey): EntityRecord | null {
    const row = this.#schema.exists ? this.#findEntity(key) : null;
    if (!row) return null;
    return entityRecord(row, this.#aliases.ofEntities([row.id]), this.#groups.ofEntity(row.id));
  }

  /** Deletes entities with their aliases. Safe to repeat. */
  deleteEntities(keys: readonly IdOrName[]): void {
    if (!this.#schema.exists) return;
    for (const key of keys) {
      const row = this.#findEntity(key);
      if (!row) continue;
      this.#aliases.deleteOfEntity(row.id);
      this.#groups.forgetEntity(row.id);
      this.#entities.delete(row.id);
    }
  }

  /** At most `limit` entities with their aliases (and without their groups) after `after`, an id or a name. */
  listEntities(order: "id" | "name", after: string, limit: number): EntityRecord[] {
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
   * @param now ms.
   */
  writeAlias(id: string | null, write: AliasWrite, ids: NewEntityIds, now: number): Result<WrittenAlias, Failure> {
    this.#schema.create();
    const byId = id === null ? null : this.#aliases.byId(id);
    if (id !== null && !byId) return err(invalid("invalid alias ID provided"));
    const { name, mountAccessor } = write;
    if (!byId && (name === null || mountAccessor === null)) {
      return err(invalid("'id' or 'mount_accessor' and 'name' must be provided"));
    }
    const alias = byId ?? this.#aliases.byName(mountAccessor ?? "", name ?? "");
    const tables = { entities: this.#entities, aliases: this.#aliases };
    return alias ? changeAlias(tables, alias, write, now) : addAlias(tables, write, ids, now);
  }

  /** The alias with this id, or null. */
  readAlias(id: string): AliasRecord | null {
    return this.#schema.exists ? this.#aliases.byId(id) : null;
  }

  /** Deletes an alias. Safe to repeat. */
  deleteAlias(id: string): void {
    const alias = this.#schema.exists ? this.#aliases.byId(id) : null;
    if (!alias) return;
    this.#aliases.delete(id);
    this.#entities.touch(alias.entityId);
  }

  /** At most `limit` aliases after the id `after`. */
  listAliases(after: string, limit: number): AliasRecord[] {
    return this.#schema.exists ? this.#aliases.list(after, limit) : [];
  }

  /**
   * Creates or changes a group. With an id it must exist; a name finds the group that has it.
   *
   * @param newName the name for a new group that is given none.
   * @param now ms.
   */
  writeGroup(
    id: string | null,
    write: GroupWrite,
    newId: string,
    newName: string,
    now: number,
  ): Result<Written, Failure> {
    const byId = id !== null && this.#schema.exists ? this.#groups.byId(id) : null;
    if (id !== null && !byId) return err(invalid("group not found from id"));
    this.#schema.create();
    const byName = write.name === null ? null : this.#groups.byName(write.name);
    if (byId && byName && byName.id !== byId.id) return err(invalid("group name is already in use"));
    const existing = byId ?? byName;
    const groupId = existing?.id ?? newId;
    if (write.memberEntityIds && !this.#entities.allExist(write.memberEntityIds)) {
      return err(invalid("member_entity_ids holds an id that is no entity"));
    }
    if (write.memberGroupIds && !this.#groups.allExist(write.memberGroupIds)) {
      return err(invalid("member_group_ids holds an id that is no group"));
    }
    // Without this check a group could pass its policies on to its own parents.
    if (write.memberGroupIds && this.#groups.isWithin(groupId, write.memberGroupIds)) {
      return err(invalid("cyclic relationship detected for a group in member_group_ids"));
    }
    const type = existing?.type ?? write.type ?? INTERNAL_GROUP;
    if (write.type && write.type !== type) return err(invalid("group type cannot be changed"));
    if (type === EXTERNAL_GROUP) {
      if (write.memberEntityIds) return err(invalid("member entities can't be set manually for external groups"));
      if (write.memberGroupIds) return err(invalid("member groups can't be set for external groups"));
    }
    const name = write.name ?? existing?.name ?? newName;
    this.#groups.write(groupId, name, type, write, now);
    return ok({ id: groupId, name, created: existing === null });
  }

  /** The group with this id or name, with its members and parents. null when there is none. */
  readGroup(key: IdOrName): GroupRecord | null {
    const row = this.#schema.exists ? this.#findGroup(key) : null;
    return row && groupRecord(row, this.#groups, this.#groupAliases);
  }

  /** Deletes a group; its members stay. Safe to repeat. */
  deleteGroup(key: IdOrName): void {
    const row = this.#schema.exists ? this.#findGroup(key) : null;
    if (!row) return;
    this.#groupAliases.deleteOfGroup(row.id);
    this.#groups.delete(row.id);
  }

  /** At most `limit` groups after `after`, an id or a name. */
  listGroups(order: "id" | "name", after: string, limit: number): GroupRecord[] {
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
  writeGroupAlias(
    id: string | null,
    write: GroupAliasWrite,
    ids: NewGroupIds,
    now: number,
  ): Result<GroupAliasRecord | null, Failure> {
    this.#schema.create();
    return writeGroupAlias({ groups: this.#groups, groupAliases: this.#groupAliases }, id, write, ids, now);
  }

  /** A group alias by its id, or by its name on a mount; null when there is none. */
  readGroupAlias(
    key: { readonly id: string } | { readonly name: string; readonly mountAccessor: string },
  ): GroupAliasRecord | null {
    if (!this.#schema.exists) return null;
    return "id" in key ? this.#groupAliases.byId(key.id) : this.#groupAliases.byName(key.mountAccessor, key.name);
  }

  /** Deletes a group alias; nobody is in its group any more. Safe to repeat. */
  deleteGroupAlias(id: string): void {
    const alias = this.#schema.exists ? this.#groupAliases.byId(id) : null;
    if (!alias) return;
    this.#groupAliases.delete(id);
    this.#groups.removeEntities(alias.groupId);
  }

  /** At most `limit` group aliases after the id `after`. */
  listGroupAliases(after: string, limit: number): GroupAliasRecord[] {
    return this.#schema.exists ? this.#groupAliases.list(after, limit) : [];
  }

  /** Makes an entity a member of exactly those external groups of a mount that the mount's method names. */
  #setExternalGroups(entityId: string, mountAccessor: string, names: readonly string[]): void {
    const before = new Set(this.#groupAliases.groupIdsOfMember(mountAccessor, entityId));
    const after = new Set(this.#groupAliases.groupIdsOf(mountAccessor, names));
    const left = [...before].filter((id) => !after.has(id));
    const joined = [...after].filter((id) => !before.has(id));
    for (const id of left) this.#groups.removeEntity(id, entityId);
    for (const id of joined) this.#groups.addEntity(id, entityId);
    if (left.length + joined.length > 0) this.#entities.touch(entityId);
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

  #view(row: EntityRow, revision: string): EntityView {
    return entityView(row, revision, this.#aliases.ofEntities([row.id]), this.#groups.ofEntity(row.id));
  }
}

/** The identity object of the installation. */
export function identityOf(env: Env): DurableObjectStub<Identity> {
  return env.IDENTITY.getByName("identity");
}
