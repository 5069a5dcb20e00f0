import { ok, type Result, refuse } from "../base/result.ts";
import {
  checkQuotaConfig,
  DEFAULT_QUOTA_CONFIG,
  newQuota,
  type QuotaConfig,
  type QuotaPlace,
  type QuotaWrite,
  type RateLimitQuota,
} from "../quota/quota.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { columnOf, RANDOM_REVISION, storedJson } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";

const QUOTAS: TableShape = { table: "rate_limit_quotas", kind: "rate limit quota", key: ["name"], sealed: ["quota"] };
const CONFIG: TableShape = { table: "quota_config", kind: "quota setting", key: ["id"], sealed: ["config"] };

/** Quotas and their common configuration. A row that was tampered with counts as absent. */
export class QuotaStore extends SystemStore {
  readonly #sealed = new SealedTable<{ name: string; quota: string }>(this.sql, this.seals, QUOTAS);
  readonly #sealedConfig = new SealedTable<{ id: number; config: string }>(this.sql, this.seals, CONFIG);

  all(): RateLimitQuota[] {
    return this.#sealed.list("ORDER BY name").map(({ quota }) => storedJson<RateLimitQuota>(quota));
  }

  write(write: QuotaWrite, places: readonly QuotaPlace[]): Result<null> {
    const others = this.all().filter(({ name }) => name !== write.name);
    const [revision = 0] = columnOf<number>(this.sql, `SELECT ${RANDOM_REVISION}`);
    const made = newQuota(write, places, others, revision);
    if (!made.ok) return refuse(made.error);
    this.#put(made.value);
    return ok(null);
  }

  delete(name: string): void {
    this.#sealed.delete(name);
    this.changed("quotas");
  }

  /** Deletes the quotas of a removed mount. */
  deleteOfMount(mountPath: string): void {
    for (const quota of this.all()) if (quota.mountPath === mountPath) this.delete(quota.name);
  }

  /** Changes the path in the quotas of a mount that was moved. */
  moveMount(from: string, to: string): void {
    for (const quota of this.all()) if (quota.mountPath === from) this.#put({ ...quota, mountPath: to });
  }

  config(): QuotaConfig {
    const row = this.#sealedConfig.find(1);
    return row ? storedJson<QuotaConfig>(row.config) : DEFAULT_QUOTA_CONFIG;
  }

  configure(config: QuotaConfig): Result<null> {
    const checked = checkQuotaConfig(config);
    if (!checked.ok) return refuse(checked.error);
    this.#sealedConfig.put({ id: 1, config: JSON.stringify(checked.value) });
    this.changed("quotas");
    return ok(null);
  }

  #put(quota: RateLimitQuota): void {
    this.#sealed.put({ name: quota.name, quota: JSON.stringify(quota) });
    this.changed("quotas");
  }
}
