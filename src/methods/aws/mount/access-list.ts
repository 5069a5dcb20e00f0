import type { Ms, Seconds } from "../../../base/clock.ts";
import { logInfo } from "../../../base/log.ts";
import type { CallAttempt } from "../../../base/lost-call-retry.ts";
import { LOST } from "../../../base/platform-errors.ts";
import { DENIED, err, ok, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import type { Migration } from "../../../storage/tables.ts";
import { GroveObject } from "../../../system/grove-object.ts";
import { type AccessEntry, decideLogin, type InstanceLogin } from "../rules/reauthentication.ts";
import { DEFAULT_TIDY, ExpiringList, TIDY_JOBS_TABLE, type TidySettings } from "./expiring-list.ts";
import { cloudAuthAt } from "./mount-config.ts";

export const CLOUD_ACCESS_LIST_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "a shard of the access list of a mount, and where it is",
    sql: `
      CREATE TABLE access_list (name TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL, seal BLOB)
        WITHOUT ROWID;
      CREATE INDEX access_list_by_end ON access_list (expires_at);
      CREATE TABLE place (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        mount TEXT NOT NULL,
        shard INTEGER NOT NULL
      );
      ${TIDY_JOBS_TABLE}
    `,
  },
];

/** A shard with entries that have ended asks the mount each hour whether it may remove them: settings can change. */
const LOOK_HOURLY: TidySettings = { safetyBuffer: 0, disablePeriodicTidy: false };

/** The place of a shard, with the uuid of its mount. Its alarm needs it to find the mount. */
type ShardPlace = { readonly mount: string; readonly shard: number };

/** The entry of a login, and the entry that it replaced. */
export type EnteredLogin = { readonly entry: AccessEntry; readonly previous: AccessEntry | null };

/** A shard of the access list of a mount: the logins of its instances. It checks their nonces in one transaction. */
export class CloudAccessList extends GroveObject<Env> {
  readonly #entries: ExpiringList<AccessEntry>;
  /** Kept once it was read, as every login needs it. */
  #knownPlace: ShardPlace | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, CLOUD_ACCESS_LIST_MIGRATIONS);
    this.#entries = new ExpiringList(this.alarms, this.tables, this.seals, {
      list: "access",
      table: "access_list",
      kind: "access list entry",
      stays: () => false,
      pace: () => LOOK_HOURLY,
      settings: () => this.#settings(),
      report: (done) => logInfo(env, { type: "tidy", ...done, shard: this.#place()?.shard }),
    });
    if (this.tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /**
   * Decides about the login of an instance and stores its entry in one transaction, so only one of two concurrent
   * logins is the first one. Returns the entry, whose `nonceHash` is null when no further login is possible; or a 400.
   */
  async enterLogin(
    place: ShardPlace,
    instanceId: string,
    login: InstanceLogin,
    now: Ms,
    attempt: CallAttempt = {},
  ): Promise<Result<EnteredLogin>> {
    await this.keys.open();
    if (this.carriedOut.has(attempt, "write")) return this.#enteredBefore(instanceId, login, now);
    const decided = this.#decide(instanceId, login, now);
    if (!decided.ok) return decided;
    this.#entries.write(instanceId, decided.value.entry);
    this.#notePlace(place);
    this.carriedOut.add(attempt, "write");
    // The alarm is already set for everything else, and reading when that is due costs as much as writing the entry.
    await this.#entries.setAlarmForEnd(decided.value.entry.expiresAt);
    return decided;
  }

  /** Decides like `enterLogin`, but stores nothing and returns null for the entry. */
  async judgeLogin(instanceId: string, login: InstanceLogin, now: Ms): Promise<Result<null>> {
    await this.keys.open();
    const decided = this.#decide(instanceId, login, now);
    return decided.ok ? ok(null) : decided;
  }

  /**
   * Undoes `enterLogin` when no token was issued: the client has not received its new nonce and would be locked out.
   * Does nothing when another login has been entered since. Safe to repeat.
   */
  async undoLogin(instanceId: string, { entry, previous }: EnteredLogin): Promise<void> {
    await this.keys.open();
    const current = this.#entries.read(instanceId);
    if (JSON.stringify(current) !== JSON.stringify(entry)) return;
    if (previous) this.#entries.write(instanceId, previous);
    else this.#entries.delete(instanceId);
  }

  /**
   * Keeps the entry of an instance whose token is renewed at least until `expiresAt`. Returns the entry; null when
   * an operator has deleted it, so that the token is not renewed. Safe to repeat.
   */
  async extend(instanceId: string, expiresAt: Ms, now: Ms): Promise<AccessEntry | null> {
    await this.keys.open();
    const entry = this.#entries.read(instanceId);
    if (!entry) return null;
    const extended = { ...entry, updatedAt: now, expiresAt: Math.max(entry.expiresAt, expiresAt) };
    this.#entries.write(instanceId, extended);
    return extended;
  }

  /** The entry of an instance, or null. */
  async read(instanceId: string): Promise<AccessEntry | null> {
    await this.keys.open();
    return this.#entries.read(instanceId);
  }

  /** At most `limit` ids of instances after `after`, in order. */
  list(after: string, limit: number): string[] {
    return this.#entries.names(after, limit);
  }

  /** Deletes the entry of an instance: its tokens are not renewed, its next login is a first one. */
  async delete(instanceId: string, attempt: CallAttempt = {}): Promise<void> {
    await this.keys.open();
    this.deleteOnce(attempt, () => this.#entries.delete(instanceId));
  }

  /** Starts to remove ended entries. False when that has not finished yet. */
  async startTidy(safetyBuffer: Seconds, now: Ms): Promise<boolean> {
    await this.keys.open();
    return this.#entries.startTidy(safetyBuffer, now);
  }

  /** Deletes everything when the mount is removed. */
  async erase(): Promise<void> {
    this.#knownPlace = null;
    await this.wipe();
  }

  async #settings(): Promise<TidySettings> {
    const place = this.#place();
    if (!place) throw new Error("a shard with entries has a place");
    return (await cloudAuthAt(this.env, { uuid: place.mount }).readTidy("access")) ?? DEFAULT_TIDY;
  }

  #notePlace(place: ShardPlace): void {
    if (this.#place()) return;
    const insert = "INSERT OR REPLACE INTO place (id, mount, shard) VALUES (1, ?, ?)";
    this.tables.exec(insert, place.mount, place.shard);
    this.#knownPlace = place;
  }

  #place(): ShardPlace | null {
    const query = "SELECT mount, shard FROM place";
    this.#knownPlace ??= this.tables.exec<ShardPlace>(query).toArray()[0] ?? null;
    return this.#knownPlace;
  }

  /**
   * What another attempt of a call has entered; a 503 when it was replaced since. The entry before it is not known any
   * more: to undo a login that was not the first one leaves its entry.
   */
  #enteredBefore(instanceId: string, { nonce }: InstanceLogin, now: Ms): Result<EnteredLogin> {
    const entry = this.#entries.read(instanceId);
    if (entry?.updatedAt !== now) return err(LOST);
    const isOwn = entry.nonceHash === null || (nonce.kind !== "none" && nonce.hash === entry.nonceHash);
    return isOwn ? ok({ entry, previous: entry.createdAt === now ? null : entry }) : err(LOST);
  }

  #decide(instanceId: string, login: InstanceLogin, now: Ms): Result<EnteredLogin> {
    const previous = this.#entries.read(instanceId);
    // If an entry that was tampered with counted as absent, any client could make the first login of its instance.
    if (!previous && this.#entries.has(instanceId)) return err(DENIED);
    const decided = decideLogin(previous, login, now);
    return decided.ok ? ok({ entry: decided.value, previous }) : decided;
  }
}
