import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../../base/clock.ts";
import { within } from "../../base/location.ts";
import type { Env } from "../../env.ts";
import { RowSeals } from "../../storage/row-seals.ts";
import { Schema } from "../../storage/schema.ts";
import { checkSeals, NOTHING_TO_CHECK, type SealPosition, type SealStep } from "../../storage/seal-check.ts";
import { ObjectKeys } from "../../system/object-keys.ts";
import { sameMetadata } from "../alias-store.ts";
import { metadataOf } from "../entity-store.ts";
import { identityOf } from "../identity.ts";
import type { EntityRecord, EntityView, Metadata } from "../model.ts";
import { type FoundAlias, type LoginRow, LoginStore } from "./login-store.ts";
import { nameOfEntity, shardOfAlias } from "./place.ts";
import { aliasOfLogin, entityOfLogin, viewOfLogin } from "./records.ts";
import { ENTITY_SHARD_MIGRATIONS } from "./schema.ts";

/** The answer of a shard about something that `Identity` has, or nobody. */
export type Elsewhere = "elsewhere";

/**
 * One of the objects that have the entities that logins make, each with its alias. The alias says which one, and so do the ids
 * that it draws. An entity stays here for as long as nobody but logins writes it: before an operator's first write it is handed
 * over to `Identity`, which decides everything that compares entities with each other. From then on the alias is known here as
 * one that `Identity` has, for ever.
 */
export class EntityShard extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #logins: LoginStore;
  readonly #schema: Schema;
  readonly #keys: ObjectKeys;
  /** Whether aliases can be older than the shards; null until it is needed. */
  #asksFirst: boolean | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#keys = new ObjectKeys(env);
    this.#logins = new LoginStore(this.#sql, new RowSeals(ctx.id.toString(), () => this.#keys.get()));
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
  async login(
    mountAccessor: string,
    name: string,
    metadata: Metadata | null,
    newId: string,
    now: number,
  ): Promise<EntityView | Elsewhere | null> {
    const found = await this.#find(mountAccessor, name);
    if (found === "tampered") return null;
    if (found === "elsewhere") return found;
    if (!found) return viewOfLogin(this.#logins.insert(newId, mountAccessor, name, metadata ?? {}, now));
    if (found.leaving) return this.#handOver(found);
    const isNews = metadata !== null && !sameMetadata(metadataOf(found.metadata), metadata);
    return viewOfLogin(isNews ? this.#logins.update(found, metadata, now) : found);
  }

  /**
   * What the entity adds to its tokens; "unchanged" when the caller knows it, null when it was tampered with, "elsewhere" when
   * this shard has none (any more).
   */
  async view(id: string, known: string | null): Promise<EntityView | Elsewhere | "unchanged" | null> {
    const row = await this.#entity(id);
    if (row === "tampered") return null;
    if (!row) return "elsewhere";
    const view = viewOfLogin(row);
    return view.revision === known ? "unchanged" : view;
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
    return found === null || typeof found === "string" ? null : this.readEntity(found.id);
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
      const row = await this.#entity(id);
      if (row) this.#logins.delete(id);
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
   */
  async handOverAlias(mountAccessor: string, name: string): Promise<void> {
    const found = await this.#find(mountAccessor, name);
    if (found === "elsewhere") return;
    if (found === null || found === "tampered") this.#logins.point(mountAccessor, name, currentTime());
    else await this.#handOver(found);
  }

  /** Checks the seals of some rows, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    if (!this.#schema.exists) return NOTHING_TO_CHECK;
    await this.#keys.open();
    return checkSeals([this.#logins.sealed], from);
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
    this.#logins.point(mountAccessor, name, currentTime());
    return "elsewhere";
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
    if (now !== null) this.#logins.point(row.mount_accessor, row.alias_name, currentTime());
    return "elsewhere";
  }
}

/** A shard by its number, or the one that has an alias. */
export function entityShard(env: Env, number: number): DurableObjectStub<EntityShard> {
  return within(env, env.ENTITY_SHARD).getByName(`entities-${number.toString(16).padStart(2, "0")}`);
}
