import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../../base/clock.ts";
import type { Env } from "../../env.ts";
import { RowSeals } from "../../storage/row-seals.ts";
import { Schema } from "../../storage/schema.ts";
import { checkSeals, NOTHING_TO_CHECK, type SealPosition, type SealStep } from "../../storage/seal-check.ts";
import { isWithin } from "../../system/copy-age.ts";
import { ObjectKeys } from "../../system/object-keys.ts";
import { sameMetadata } from "../alias-store.ts";
import { Announcements } from "../announcements.ts";
import { metadataOf } from "../entity-store.ts";
import { identityOf } from "../identity.ts";
import type { EntityRecord, Metadata, OwnEntityState } from "../model.ts";
import { CopyStore } from "./copy-store.ts";
import { type Elsewhere, type FoundAlias, isHere, type LoginRow, LoginStore } from "./login-store.ts";
import { nameOfEntity, shardOfAlias, shardThatTells } from "./place.ts";
import { aliasOfLogin, entityOfLogin, ownOfLogin } from "./records.ts";
import { ENTITY_SHARD_MIGRATIONS } from "./schema.ts";

/** How long (ms) a copy is good that nobody recalls: a bound for what is not recalled, as when `Identity` is restored. */
const LONGEST_MS = 3_600_000;

/**
 * One of the objects that have the entities that logins make, each with its alias. The alias says which one, and so do the ids
 * that it draws. An entity stays here for as long as nobody but logins writes it: before an operator's first write it is handed
 * over to `Identity`, which decides everything that compares entities with each other. From then on the alias is known here as
 * one that `Identity` has, for ever.
 *
 * Isolates ask the shard that an id begins with for entities wherever they are: of one that is with `Identity` it keeps a copy until
 * `Identity` recalls it.
 */
export class EntityShard extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #logins: LoginStore;
  readonly #copies: CopyStore;
  readonly #announcements: Announcements;
  readonly #schema: Schema;
  readonly #keys: ObjectKeys;
  /** Whether aliases can be older than the shards; null until it is needed. */
  #asksFirst: boolean | null = null;
  /** Counts recalls: an answer of `Identity` that was under way during one may be older than the change, and is not kept. */
  #recalls = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#keys = new ObjectKeys(env);
    const seals = new RowSeals(ctx.id.toString(), () => this.#keys.get());
    this.#logins = new LoginStore(this.#sql, seals);
    this.#copies = new CopyStore(this.#sql, seals);
    this.#announcements = new Announcements(env);
    this.#schema = new Schema(this.#sql, ENTITY_SHARD_MIGRATIONS);
  }

  /**
   * The entity that has the alias, made with it when nobody has.
   *
   * @param metadata what the auth method says about the alias; null when it says nothing.
   * @param newId for a new entity, of this shard.
   * @param now ms.
   * @returns null when what is known of the alias was tampered with: to make a new entity would be a way around it.
   */
  async logIn(
    mountAccessor: string,
    name: string,
    metadata: Metadata | null,
    newId: string,
    now: number,
  ): Promise<OwnEntityState | Elsewhere | null> {
    for (let triedToAnnounce = false; ; triedToAnnounce = true) {
      const found = await this.#find(mountAccessor, name);
      if (found === "tampered") return null;
      if (!found) return ownOfLogin(this.#logins.insert(newId, mountAccessor, name, metadata ?? {}, now));
      if (!isHere(found)) return found;
      if (found.leaving) return this.#handOver(found);
      if (metadata === null || sameMetadata(metadataOf(found.metadata), metadata)) return ownOfLogin(found);
      const unannounced = this.#announcements.lacking([shardThatTells(found.id)], now);
      if (triedToAnnounce || unannounced.length === 0) return ownOfLogin(this.#logins.update(found, metadata, now));
      await this.#announcements.tryToAnnounce(unannounced, now);
    }
  }

  /**
   * An entity whose id begins with the number of this shard, wherever it is; "unchanged" when the caller knows this state of it, null
   * when there is none (any more) or it was tampered with.
   *
   * @param now ms.
   */
  async entity(id: string, known: string | null, now: number): Promise<OwnEntityState | "unchanged" | null> {
    const row = await this.#entity(id);
    if (row === "tampered") return null;
    const entity = row ? ownOfLogin(row) : await this.#borrowed(id, now);
    return entity?.revision === known && known !== null ? "unchanged" : entity;
  }

  /** Drops the copies of entities, which are about to change. Safe to repeat. */
  async forgetCopies(ids: readonly string[]): Promise<void> {
    this.#recalls++;
    if (this.#schema.exists) for (const id of ids) this.#copies.forget(id);
  }

  /** An entity of this shard by its id, or null. */
  async readEntity(id: string): Promise<EntityRecord | null> {
    const row = await this.#entity(id);
    return row === null || row === "tampered" ? null : entityOfLogin(row);
  }

  /** The entity of this shard that the alias belongs to, or null. */
  async readEntityOfAlias(mountAccessor: string, name: string): Promise<EntityRecord | null> {
    await this.#keys.open();
    const found = this.#schema.exists ? this.#logins.byAlias(mountAccessor, name) : null;
    return found === null || found === "tampered" || !isHere(found) ? null : this.readEntity(found.id);
  }

  /** The entity of this shard with a name that begins with the beginning of its id, or null. */
  async readEntityByName(name: string, firstId: string): Promise<EntityRecord | null> {
    const [first] = await this.listEntities(firstId, 1);
    return first?.name === name.toLowerCase() ? first : null;
  }

  /** At most `limit` entities with ids from `first` on, in their order. */
  async listEntities(first: string, limit: number): Promise<EntityRecord[]> {
    await this.#settle();
    return this.#schema.exists ? this.#logins.list(first, limit).map(entityOfLogin) : [];
  }

  /** How many entities there are, counted up to `most`. */
  async countEntities(most: number): Promise<number> {
    await this.#settle();
    return this.#schema.exists ? this.#logins.count(most) : 0;
  }

  /** Deletes entities with their aliases. Those that are not here are left alone. Safe to repeat. */
  async deleteEntities(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      if (!(await this.#entity(id))) continue;
      const now = currentTime();
      await this.#announcements.announce(this.#announcements.lacking([shardThatTells(id)], now), now);
      // It may have been handed over meanwhile.
      if (await this.#entity(id)) this.#logins.delete(id);
    }
  }

  /** Makes sure that `Identity` has these entities, unless nobody has. Safe to repeat. */
  async handOverEntities(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const row = await this.#entity(id);
      if (row !== null && row !== "tampered") await this.#handOver(row);
    }
  }

  /**
   * Makes sure that whoever asks for the alias is sent to `Identity`, which has its entity from now on, if there is one. What was
   * tampered with is dropped. Safe to repeat.
   *
   * @param holder who will hold it there when nobody has it yet; null when the caller does not know.
   */
  async handOverAlias(mountAccessor: string, name: string, holder: string | null): Promise<Elsewhere> {
    const found = await this.#find(mountAccessor, name);
    if (found !== null && found !== "tampered") return isHere(found) ? this.#handOver(found) : found;
    this.#logins.point(mountAccessor, name, holder, currentTime());
    return { holder };
  }

  /** Notes who holds an alias that `Identity` has, for the next login by it. */
  async noteHolder(mountAccessor: string, name: string, holder: string): Promise<void> {
    const found = await this.#find(mountAccessor, name);
    if (found !== null && found !== "tampered" && !isHere(found)) {
      this.#logins.point(mountAccessor, name, holder, currentTime());
    }
  }

  /** Checks the seals of some rows, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    if (!this.#schema.exists) return NOTHING_TO_CHECK;
    await this.#keys.open();
    return checkSeals([this.#logins.sealed, this.#copies.sealed], from);
  }

  /**
   * What is known of an alias, in a shard that may write. When aliases from before there were shards are with `Identity`, an alias that
   * is new here is asked for there.
   */
  async #find(mountAccessor: string, name: string): Promise<FoundAlias> {
    await this.#keys.open();
    const asksFirst = await this.#admitted(shardOfAlias(mountAccessor, name));
    const found = this.#logins.byAlias(mountAccessor, name);
    if (found !== null || !asksFirst) return found;
    const isOlder = await identityOf(this.env).hasAlias(mountAccessor, name);
    // Others were served while this waited.
    const meanwhile = this.#logins.byAlias(mountAccessor, name);
    if (meanwhile !== null || !isOlder) return meanwhile;
    this.#logins.point(mountAccessor, name, null, currentTime());
    return { holder: null };
  }

  /** The copy of an entity that is with `Identity`, made when there is none; null when nobody has it. */
  async #borrowed(id: string, now: number): Promise<OwnEntityState | null> {
    const copy = this.#schema.exists ? this.#copies.read(id) : null;
    const isGood = copy !== null && copy !== "tampered";
    if (isGood && isWithin(copy.takenAt, LONGEST_MS, now)) return copy.entity;
    const recalls = this.#recalls;
    const lent = await identityOf(this.env).lendEntity(id, now);
    const mayKeep = lent?.mayKeep === true && copy !== "tampered";
    if (mayKeep) await this.#admitted(shardThatTells(id));
    if (mayKeep && recalls === this.#recalls) return this.#copies.keep(lent.entity, isGood ? copy : null, now);
    return lent && { ...lent.entity, revision: crypto.randomUUID() };
  }

  /** Lists this shard with `Identity` before its first row. @returns whether aliases can be older than the shards. */
  async #admitted(number: number): Promise<boolean> {
    if (!this.#schema.exists) {
      const asksFirst = await identityOf(this.env).admitShard(number);
      if (!this.#schema.exists) {
        this.#schema.create();
        this.#sql.exec("INSERT INTO shard (asks_first) VALUES (?)", asksFirst ? 1 : 0);
      }
    }
    this.#asksFirst ??= this.#sql.exec<{ asks_first: number }>("SELECT asks_first FROM shard").one().asks_first === 1;
    return this.#asksFirst;
  }

  /** The row of an entity that is here to stay. One that is leaving is handed over first. */
  async #entity(id: string): Promise<LoginRow | "tampered" | null> {
    await this.#keys.open();
    const row = this.#schema.exists ? this.#logins.byId(id) : null;
    if (row === null || row === "tampered" || !row.leaving) return row;
    await this.#handOver(row);
    return null;
  }

  /** Hands over what a crash kept from it. */
  async #settle(): Promise<void> {
    if (!this.#schema.exists) return;
    await this.#keys.open();
    for (const row of this.#logins.leaving()) await this.#handOver(row);
  }

  /**
   * Hands an entity over to `Identity`. It is marked first: after a crash in between whoever asks for it does the rest, and nothing
   * changes it meanwhile. `Identity` takes it once, however often it is told.
   */
  async #handOver(row: LoginRow): Promise<Elsewhere> {
    if (!row.leaving) this.#logins.markLeaving(row);
    const { id, created_at: createdAt } = row;
    await identityOf(this.env).adopt({ id, name: nameOfEntity(id), createdAt, alias: aliasOfLogin(row) });
    const now = this.#logins.byId(id);
    if (now !== null) this.#logins.point(row.mount_accessor, row.alias_name, id, currentTime());
    return { holder: id };
  }
}
