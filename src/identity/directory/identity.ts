import { currentTime, type Ms } from "../../base/clock.ts";
import type { CallAttempt } from "../../base/lost-call-retry.ts";
import { inGroups } from "../../base/parallel.ts";
import { DENIED, err, ok, type Result, refuse } from "../../base/result.ts";
import { columnOf, Tables } from "../../storage/tables.ts";
import { GroveObject } from "../../system/grove-object.ts";
import type { IdentityEnv } from "../env.ts";
import { type Merge, mergeEntities } from "../merge.ts";
import type {
  AliasPlace,
  AllGroups,
  DirectoryEntry,
  GroupAliasRecord,
  GroupAliasWrite,
  GroupRecord,
  GroupWrite,
  IdOrName,
  Written,
} from "../model.ts";
import type { AbsentEntity } from "../shard/entity-shard.ts";
import { shardOfEntity } from "../shard/sharding.ts";
import { entityShard } from "../stubs.ts";
import { EntityNameStore } from "./entity-name-store.ts";
import { GroupStore } from "./group-store.ts";
import { MERGE_MIGRATIONS, MergeStore } from "./merge-store.ts";
import { IDENTITY_MIGRATIONS } from "./tables.ts";
import { UnsentEntities, type UnsentEntity } from "./unsent-entities.ts";

/** Maximum number of entities in one round of calls. */
const BATCH = 1_000;
/** Delay of the alarm that sends pending entries, after a change or a failed attempt. */
const RETRY_MS = 10_000;

/**
 * The directory of an installation: data that must be consistent across all entities. It decides about the names that
 * operators give to entities, about groups, and about the members of groups, each change in one transaction. Requests
 * read groups from here, through the copy of their isolate, and entities from their shards.
 *
 * It sends the name and groups of a changed entity to the entity's shard. Changed entities are queued (`UnsentEntities`)
 * in the transaction of the change, and the answer to the change waits until their shards have them. After a crash in
 * between, or when a shard does not answer, the alarm sends them.
 */
export class Identity extends GroveObject<IdentityEnv> {
  readonly #names = new EntityNameStore(this.tables, this.seals);
  readonly #unsent = new UnsentEntities(this.tables, this.ctx.storage.sql, this.seals);
  readonly #mergeTables = new Tables(this.ctx.storage.sql, MERGE_MIGRATIONS, "merges");
  readonly #merges = new MergeStore(this.#mergeTables, this.seals);
  readonly #groups = new GroupStore(
    this.tables,
    this.seals,
    this.#merges,
    (entityId) => void this.#changed.add(entityId),
  );
  /** Ids of the entities whose name or groups the current transaction changes. */
  readonly #changed = new Set<string>();
  /** Ends with the last merge that was asked for. */
  #lastMerge: Promise<unknown> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: IdentityEnv) {
    super(ctx, env, IDENTITY_MIGRATIONS);
    this.alarms.add("directory_unsent", {
      dueAt: () => (this.#unsent.next(1).length === 0 ? null : currentTime()),
      run: () => this.#send(),
      pauseMs: () => RETRY_MS,
    });
  }

  /** Registers a shard of entities before its first write. Safe to repeat. */
  admitShard(number: number): void {
    this.tables.exec("INSERT OR IGNORE INTO entity_shards (number) VALUES (?)", number);
  }

  /** Returns the sorted numbers of the shards that have ever written. Lists and counts call only these. */
  shards(): number[] {
    return columnOf(this.tables, "SELECT number FROM entity_shards ORDER BY number");
  }

  /** Returns the id of the entity to which an operator gave this name; null when there is none. */
  async entityOfName(name: string): Promise<string | null> {
    await this.keys.open();
    return this.#names.holderOf(name);
  }

  /**
   * Gives an entity a name, unless another entity has it. Returns the id of the entity that has the name then.
   * @param insteadOf an entity that the caller found deleted: it is removed from the names and groups first.
   */
  async nameEntity(
    entityId: string,
    name: string,
    insteadOf: string | null,
    attempt: CallAttempt = {},
  ): Promise<string> {
    const named = await this.#change(attempt, () => {
      if (insteadOf !== null) this.#forget(insteadOf);
      const holder = this.#names.holderOf(name) ?? entityId;
      if (holder !== entityId) return ok(holder);
      this.#names.put(entityId, name);
      this.#changed.add(entityId);
      return ok(entityId);
    });
    if (!named.ok) throw new Error("the answer of a call that named an entity is missing");
    return named.value;
  }

  /** Returns at most `limit` names that operators gave to entities, after `after`, in order. */
  async listNames(after: string, limit: number): Promise<string[]> {
    await this.keys.open();
    return this.#names.list(after, limit);
  }

  /** Returns at most `limit` ids of entities whose given names contain `key` (lower case). Reads all names. */
  async searchNames(key: string, limit: number): Promise<string[]> {
    await this.keys.open();
    return this.#names.search(key, limit);
  }

  /** Removes deleted entities from the names and the groups. Safe to repeat. */
  async forgetEntities(entityIds: readonly string[]): Promise<void> {
    if (!this.tables.exist) return;
    await this.#change({}, () => {
      for (const id of entityIds) this.#forget(id);
      return ok(null);
    });
  }

  /** Merges entities into another one, see `mergeEntities`. Merges run one at a time, so that they don't interfere. */
  merge(merge: Merge): Promise<Result<null>> {
    const result = this.#lastMerge.then(() => mergeEntities(this.env, this, merge));
    this.#lastMerge = result.catch(() => null);
    return result;
  }

  /**
   * Notes that entities are being merged into another one, and makes it a member of all their groups. Safe to repeat.
   * @returns a refusal, without a change, when one of them is part of another merge that a crash interrupted;
   *   "permission_denied" when a membership was tampered with: the target could lack the `deny` rules of a group.
   */
  async beginMerge(from: readonly string[], into: string): Promise<Result<null>> {
    await this.keys.open();
    this.#mergeTables.create();
    return this.#change({}, () => {
      const other = this.#merges.naming([...from, into]).find(({ target }) => target !== into);
      if (other) {
        const { source, target } = other;
        return refuse(`entity ${source} is being merged into ${target}: repeat that merge, which was interrupted`);
      }
      const groups = [...from, into].map((id) => this.#groups.members.ofEntity(id));
      if (groups.includes(null)) return err(DENIED);
      this.#merges.begin(from, into);
      const held = new Set(groups.at(-1));
      for (const id of new Set(groups.flatMap((ids) => ids ?? []))) {
        if (!held.has(id)) this.#groups.members.addEntity(id, into);
      }
      return ok(null);
    });
  }

  /** Returns the entities of `from` whose merge into `into` has begun. */
  async begunMerges(from: readonly string[], into: string): Promise<string[]> {
    await this.keys.open();
    const begun = this.#merges.naming(from).filter(({ source, target }) => target === into && from.includes(source));
    return begun.map(({ source }) => source);
  }

  /** Notes that entities are no longer being merged. Safe to repeat. For merged entities, `forgetEntities` does it. */
  endMerge(from: readonly string[]): void {
    this.#merges.end(from);
  }

  /** Returns all groups as requests need them; null when the revision `known` of the caller is current. */
  async allGroups(known: number | null): Promise<AllGroups | null> {
    await this.keys.open();
    if (!this.tables.exist) return known === 0 ? null : { revision: 0, groups: [] };
    const revision = this.#groups.revision();
    if (revision === known) return null;
    return { revision, groups: this.#groups.states() };
  }

  /** Replaces an entity's external groups of a mount by the groups with these alias names. Called at a login. */
  async setLoginGroups(
    entityId: string,
    mountAccessor: string,
    names: readonly string[],
    attempt: CallAttempt = {},
  ): Promise<void> {
    await this.#change(attempt, () => ok(this.#groups.setLoginGroups(entityId, mountAccessor, names)));
  }

  /** Creates or changes a group. See `GroupStore.write`. */
  async writeGroup(id: string | null, write: GroupWrite, now: Ms, attempt: CallAttempt = {}): Promise<Result<Written>> {
    return this.#change(attempt, () => this.#groups.write(id, write, now));
  }

  /** Returns the group with this id or name, with its members and parents; null when there is none. */
  async readGroup(key: IdOrName): Promise<GroupRecord | null> {
    await this.keys.open();
    return this.#groups.read(key);
  }

  /** Deletes a group; its members stay. */
  async deleteGroup(key: IdOrName, attempt: CallAttempt = {}): Promise<void> {
    if (this.tables.exist) await this.#change(attempt, () => ok(this.#groups.delete(key)));
  }

  /** Returns at most `limit` groups after `after`, which is an id or a name as `order` says. */
  async listGroups(order: "id" | "name", after: string, limit: number): Promise<GroupRecord[]> {
    await this.keys.open();
    return this.#groups.list(order, after, limit);
  }

  /** Creates or changes a group alias. See `GroupStore.writeAlias`. */
  async writeGroupAlias(id: string | null, write: GroupAliasWrite, now: Ms, attempt: CallAttempt = {}) {
    return this.#change(attempt, () => this.#groups.writeAlias(id, write, now));
  }

  /** Returns a group alias by its id, or by its name on a mount without regard to case; null when there is none. */
  async readGroupAlias(key: { readonly id: string } | AliasPlace): Promise<GroupAliasRecord | null> {
    await this.keys.open();
    return this.#groups.readAlias(key);
  }

  /** Deletes a group alias; its group loses all members. */
  async deleteGroupAlias(id: string, attempt: CallAttempt = {}): Promise<void> {
    if (this.tables.exist) await this.#change(attempt, () => ok(this.#groups.deleteAlias(id)));
  }

  /** Returns at most `limit` group aliases after the id `after`. */
  async listGroupAliases(after: string, limit: number): Promise<GroupAliasRecord[]> {
    await this.keys.open();
    return this.#groups.listAliases(after, limit);
  }

  /**
   * Makes a change in one transaction, unless another attempt of its call has. Then sends the entries of changed entities
   * to their shards.
   */
  async #change<T>(attempt: CallAttempt, write: () => Result<T>): Promise<Result<T>> {
    await this.keys.open();
    this.tables.create();
    this.#unsent.createTables();
    const changed = this.carriedOut.once(attempt, () => this.#apply(write));
    await this.#send();
    return changed;
  }

  /** Makes a change in one transaction, which also queues the entries of changed entities. */
  #apply<T>(write: () => T): T {
    const value = this.ctx.storage.transactionSync(() => {
      this.#changed.clear();
      const written = write();
      this.#unsent.add(this.#changed);
      return written;
    });
    if (this.#changed.size > 0) void this.alarms.atLatest(currentTime() + RETRY_MS);
    return value;
  }

  /** Sends all queued entities. @throws when a shard does not answer. */
  async #send(): Promise<void> {
    for (let queued = this.#unsent.next(BATCH); queued.length > 0; queued = this.#unsent.next(BATCH)) {
      const byShard = [...Map.groupBy(queued, ({ id }) => shardOfEntity(id))];
      await inGroups(byShard, ([shard, here]) => this.#sendTo(shard, here));
    }
  }

  async #sendTo(shard: number | null, queued: readonly UnsentEntity[]): Promise<void> {
    if (shard !== null) {
      const entries = queued.map(({ id }) => this.#entryOf(id));
      const absent = await entityShard(this.env, shard).putDirectoryEntries(entries, this.#unsent.version());
      if (absent.length > 0) this.#apply(() => this.#forgetAbsent(absent));
    }
    this.#unsent.remove(queued);
  }

  #forget(entityId: string): void {
    this.#names.delete(entityId);
    this.#groups.members.forgetEntity(entityId);
    this.#merges.forgetEntity(entityId);
  }

  /**
   * Forgets entities that ended while they got a name or a membership. A membership of a merged entity goes to its
   * target, which would otherwise lack the `deny` rules of the group.
   */
  #forgetAbsent(absent: readonly AbsentEntity[]): void {
    for (const { id, mergedInto } of absent) {
      const groups = mergedInto === null ? [] : (this.#groups.members.ofEntity(id) ?? []);
      if (mergedInto !== null) for (const group of groups) this.#groups.members.addEntity(group, mergedInto);
      this.#names.delete(id);
      this.#groups.members.forgetEntity(id);
    }
  }

  #entryOf(entityId: string): DirectoryEntry {
    const named = this.#names.nameOf(entityId);
    if (named === "tampered") return { entityId, name: null, groupIds: null };
    return { entityId, name: named.name, groupIds: this.#groups.members.ofEntity(entityId) };
  }
}
