import { within } from "../../../base/location.ts";
import { logInfo } from "../../../base/log.ts";
import { DENIED, err, ok, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import type { Migration } from "../../../storage/tables.ts";
import { GroveObject } from "../../../system/grove-object.ts";
import { type AccessEntry, decideLogin, type InstanceLogin } from "../rules/access.ts";
import { DEFAULT_TIDY, type TidySettings } from "../rules/tidy-settings.ts";
import { ExpiringValues, ListTidy, TIDY_JOBS_TABLE } from "./list-tidy.ts";

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

/** While there are ended entries, the mount is asked every hour whether they may be removed: its settings can change. */
const LOOK_HOURLY: TidySettings = { safetyBuffer: 0, disablePeriodicTidy: false };

/** Where a shard is. */
export interface ShardPlace {
  /** The uuid of the mount. */
  readonly mount: string;
  readonly shard: number;
}

type PlaceRow = { mount: string; shard: number };

/** A login that was entered in the access list, and what stood there before. */
export interface EnteredLogin {
  readonly entry: AccessEntry;
  readonly previous: AccessEntry | null;
}

/**
 * A shard of the access list of a cloud mount: what is remembered of the logins of its instances. It decides about
 * their nonces in one transaction.
 */
export class CloudAccessList extends GroveObject<Env> {
  readonly #entries: ExpiringValues<AccessEntry>;
  readonly #tidy: ListTidy<AccessEntry>;
  /** The row of the place, once it was read: every login needs it. */
  #knownPlace: ShardPlace | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, CLOUD_ACCESS_LIST_MIGRATIONS);
    this.#entries = new ExpiringValues(this.tables, this.seals, "access_list", "access list entry");
    this.#tidy = new ListTidy(this.alarms, {
      list: "access",
      tables: this.tables,
      rows: this.#entries,
      stays: () => false,
      pace: () => LOOK_HOURLY,
      settings: () => this.#settings(),
      report: (done) => logInfo(env, { type: "tidy", ...done, shard: this.#place()?.shard }),
    });
    if (this.tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /**
   * Decides the login of an instance and enters it, in one transaction: of two first logins at once one is the first.
   *
   * @returns the entry, whose `nonceHash` is null when the nonce counts for nothing; or why the login is refused (400).
   */
  async enterLogin(
    place: ShardPlace,
    instanceId: string,
    login: InstanceLogin,
    now: number,
  ): Promise<Result<EnteredLogin>> {
    await this.keys.open();
    const decided = this.#decide(instanceId, login, now);
    if (!decided.ok) return decided;
    this.#write(place, instanceId, decided.value.entry);
    // For everything else the alarm is set already, and to read when it is due costs as much as the entry.
    await this.#tidy.setAlarmForEnd(decided.value.entry.expiresAt);
    return decided;
  }

  /** What `enterLogin` would answer; null for an entry. Enters nothing. */
  async judgeLogin(instanceId: string, login: InstanceLogin, now: number): Promise<Result<null>> {
    await this.keys.open();
    const decided = this.#decide(instanceId, login, now);
    return decided.ok ? ok(null) : decided;
  }

  /**
   * Undoes `enterLogin` when no token came of it: a client that never learned its new nonce would be locked out. Does
   * nothing when another login was entered meanwhile.
   */
  async undoLogin(instanceId: string, { entry, previous }: EnteredLogin): Promise<void> {
    await this.keys.open();
    const current = this.#entries.read(instanceId);
    if (JSON.stringify(current) !== JSON.stringify(entry)) return;
    if (previous) this.#entries.write(instanceId, previous);
    else this.#entries.delete(instanceId);
  }

  /**
   * Keeps the entry of an instance whose token is renewed at least until `expiresAt` (ms).
   *
   * @returns the entry, or null when an operator has deleted it: then the token may not be renewed.
   */
  async extend(instanceId: string, expiresAt: number, now: number): Promise<AccessEntry | null> {
    await this.keys.open();
    const entry = this.#entries.read(instanceId);
    if (!entry) return null;
    const extended = { ...entry, updatedAt: now, expiresAt: Math.max(entry.expiresAt, expiresAt) };
    this.#entries.write(instanceId, extended);
    return extended;
  }

  /** The entry of an instance, or null. Times in ms. */
  async read(instanceId: string): Promise<AccessEntry | null> {
    await this.keys.open();
    return this.#entries.read(instanceId);
  }

  /** At most `limit` ids of instances after `after`, in order. */
  list(after: string, limit: number): string[] {
    return this.#entries.names(after, limit);
  }

  /** Forgets an instance: its tokens are not renewed, and its next login is a first one. Safe to repeat. */
  async delete(instanceId: string): Promise<void> {
    await this.keys.open();
    this.#entries.delete(instanceId);
  }

  /** Begins to remove ended entries. False when that is under way already. `now` in ms. */
  async startTidy(safetyBuffer: number, now: number): Promise<boolean> {
    await this.keys.open();
    return this.#tidy.start(safetyBuffer, now);
  }

  /** Deletes everything when the mount is removed. */
  async erase(): Promise<void> {
    this.#knownPlace = null;
    await this.wipe();
  }

  /** The mount's settings for the removal of ended entries. */
  async #settings(): Promise<TidySettings> {
    const place = this.#place();
    if (!place) throw new Error("a shard with entries knows where it is");
    const mount = within(this.env, this.env.CLOUD_AUTH).getByName(place.mount);
    return (await mount.readTidy("access")) ?? DEFAULT_TIDY;
  }

  #write(place: ShardPlace, instanceId: string, entry: AccessEntry): void {
    this.#entries.write(instanceId, entry);
    if (this.#place()) return;
    // The alarm has to know where this shard is.
    const insert = "INSERT OR REPLACE INTO place (id, mount, shard) VALUES (1, ?, ?)";
    this.tables.exec(insert, place.mount, place.shard);
    this.#knownPlace = place;
  }

  /** Where this shard is; null until something was written. */
  #place(): ShardPlace | null {
    const query = "SELECT mount, shard FROM place";
    this.#knownPlace ??= this.tables.exec<PlaceRow>(query).toArray()[0] ?? null;
    return this.#knownPlace;
  }

  #decide(instanceId: string, login: InstanceLogin, now: number): Result<EnteredLogin> {
    const previous = this.#entries.read(instanceId);
    // To forget an instance whose entry was tampered with would let any client be its first.
    if (!previous && this.#entries.has(instanceId)) return err(DENIED);
    const decided = decideLogin(previous, login, now);
    return decided.ok ? ok({ entry: decided.value, previous }) : decided;
  }
}
