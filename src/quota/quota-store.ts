import { ok, type Result } from "../base/result.ts";
import { RANDOM_REVISION } from "../storage/revision.ts";
import { DEFAULT_QUOTA_CONFIG, type QuotaConfig, type RateLimitQuota } from "./quota.ts";
import { checkQuotaConfig, newQuota, type QuotaPlace, type QuotaWrite } from "./rules.ts";

/** The tables of quotas. */
export const QUOTA_TABLES = `
  CREATE TABLE rate_limit_quotas (name TEXT PRIMARY KEY, quota TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE quota_config (id INTEGER PRIMARY KEY CHECK (id = 1), config TEXT NOT NULL);
`;

/** The quotas that operators wrote, and what holds for all of them. */
export class QuotaStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** All quotas, by name. */
  all(): RateLimitQuota[] {
    return this.#sql
      .exec<{ quota: string }>("SELECT quota FROM rate_limit_quotas ORDER BY name")
      .toArray()
      .map(({ quota }) => JSON.parse(quota) as RateLimitQuota);
  }

  /** Makes or replaces a quota. The error says why it is refused. */
  write(write: QuotaWrite, places: readonly QuotaPlace[]): Result<null, string> {
    const others = this.all().filter(({ name }) => name !== write.name);
    const { revision } = this.#sql.exec<{ revision: number }>(`SELECT ${RANDOM_REVISION} AS revision`).one();
    const made = newQuota(write, places, others, revision);
    if (!made.ok) return made;
    this.#put(made.value);
    return ok(null);
  }

  /** Deletes the quota `name`. Safe to repeat. */
  delete(name: string): void {
    this.#sql.exec("DELETE FROM rate_limit_quotas WHERE name = ?", name);
  }

  /** Deletes the quotas of a mount that is gone. */
  deleteOfMount(mountPath: string): void {
    for (const quota of this.all()) if (quota.mountPath === mountPath) this.delete(quota.name);
  }

  /** Lets the quotas of a mount follow it to another place. */
  moveMount(from: string, to: string): void {
    for (const quota of this.all()) if (quota.mountPath === from) this.#put({ ...quota, mountPath: to });
  }

  config(): QuotaConfig {
    const row = this.#sql.exec<{ config: string }>("SELECT config FROM quota_config").toArray()[0];
    return row ? (JSON.parse(row.config) as QuotaConfig) : DEFAULT_QUOTA_CONFIG;
  }

  /** Replaces the configuration. The error says why it is refused. */
  configure(config: QuotaConfig): Result<null, string> {
    const checked = checkQuotaConfig(config);
    if (!checked.ok) return checked;
    this.#sql.exec("INSERT OR REPLACE INTO quota_config (id, config) VALUES (1, ?)", JSON.stringify(checked.value));
    return ok(null);
  }

  #put(quota: RateLimitQuota): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO rate_limit_quotas (name, quota) VALUES (?, ?)",
      quota.name,
      JSON.stringify(quota),
    );
  }
}
