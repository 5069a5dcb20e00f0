import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../clock.ts";
import type { Env } from "../env.ts";
import { type Failure, invalid } from "../errors.ts";
import { DEFAULT_POLICY, DEFAULT_POLICY_TEXT } from "../policy/builtin.ts";
import { parsePolicy } from "../policy/parse.ts";
import { err, ok, type Result } from "../result.ts";
import { type Migration, migrate, schemaVersion } from "../storage/schema.ts";
import { emptyFilter, withCustomId } from "../token/custom-id-filter.ts";
import { type Mount, tokenMount } from "./mount.ts";
import { type MountChange, mountPathProblem, tuneMount } from "./mount-rules.ts";

/** A policy as the operator wrote it. */
export interface StoredPolicy {
  readonly name: string;
  readonly text: string;
  /** Counts the writes of this name, from 1. */
  readonly version: number;
  /** ms. */
  readonly modifiedAt: number;
}

/** A policy as requests need it: the rules, read from the text once, at the write. */
export interface PolicyRules {
  readonly name: string;
  /** JSON of a list of `PathRule`. */
  readonly rulesJson: string;
}

/** Everything that every request needs to know about the installation; isolates keep a copy. */
export interface SystemSnapshot {
  /** Grows with every change. */
  readonly version: number;
  readonly clusterId: string;
  /** The wrapped key ring; null until the service is initialised. */
  readonly sealedKeyRing: string | null;
  readonly policies: readonly PolicyRules[];
  readonly mounts: readonly Mount[];
  readonly customIdFilter: Uint8Array;
}

const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the installation, its policies and its mounts",
    sql: `
      CREATE TABLE installation (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        version INTEGER NOT NULL,
        cluster_id TEXT NOT NULL,
        sealed_key_ring TEXT,
        custom_id_filter BLOB NOT NULL
      );
      CREATE TABLE policies (
        name TEXT PRIMARY KEY,
        text TEXT NOT NULL,
        rules TEXT NOT NULL,
        version INTEGER NOT NULL,
        modified_at INTEGER NOT NULL
      ) WITHOUT ROWID;
      CREATE TABLE mounts (path TEXT PRIMARY KEY, mount TEXT NOT NULL) WITHOUT ROWID;
    `,
  },
];

/**
 * Characters of the rules of all policies together. Every isolate is sent all of them in one message, which the platform
 * limits to 32 MiB: beyond that nobody could be served any more, not even to delete a policy.
 */
const MAX_RULES_LENGTH = 8 * 1024 * 1024;

interface InstallationRow extends Record<string, SqlStorageValue> {
  version: number;
  cluster_id: string;
  sealed_key_ring: string | null;
  custom_id_filter: ArrayBuffer;
}

interface PolicyRow extends Record<string, SqlStorageValue> {
  name: string;
  text: string;
  version: number;
  modified_at: number;
}

/** The one object of an installation: initialised or not, key ring, policies, mounts. Small and read-mostly. */
export class System extends DurableObject<Env> {
  readonly #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    if (schemaVersion(this.#sql) < MIGRATIONS.length) ctx.storage.transactionSync(() => this.#create());
  }

  /** The state of the installation, or null when the caller's copy of version `known` is still true. */
  snapshot(known: number | null): SystemSnapshot | null {
    const row = this.#installation();
    if (row.version === known) return null;
    return {
      version: row.version,
      clusterId: row.cluster_id,
      sealedKeyRing: row.sealed_key_ring,
      policies: this.#sql
        .exec<{ name: string; rules: string }>("SELECT name, rules FROM policies ORDER BY name")
        .toArray()
        .map(({ name, rules }) => ({ name, rulesJson: rules })),
      mounts: this.#mounts(),
      customIdFilter: new Uint8Array(row.custom_id_filter),
    };
  }

  /** Stores the wrapped key ring of a new installation. False when there is one already; then nothing changes. */
  initialize(sealedKeyRing: string): boolean {
    if (this.#installation().sealed_key_ring !== null) return false;
    this.#sql.exec("UPDATE installation SET sealed_key_ring = ?, version = version + 1", sealedKeyRing);
    return true;
  }

  /** Replaces the wrapped key ring `from` by `to` (the same keys under another seal key). False when it is not `from`. */
  rewrapKeyRing(from: string, to: string): boolean {
    const written = this.#sql.exec(
      "UPDATE installation SET sealed_key_ring = ?, version = version + 1 WHERE sealed_key_ring = ?",
      to,
      from,
    );
    return written.rowsWritten > 0;
  }

  /** Makes every isolate ask the directory for the custom token id with this key from now on. */
  admitCustomId(directoryKey: string): void {
    const filter = withCustomId(new Uint8Array(this.#installation().custom_id_filter), directoryKey);
    this.#sql.exec("UPDATE installation SET custom_id_filter = ?, version = version + 1", filter);
  }

  /** The policy `name` as it is now, or null. */
  readPolicy(name: string): StoredPolicy | null {
    const row = this.#sql
      .exec<PolicyRow>("SELECT name, text, version, modified_at FROM policies WHERE name = ?", name)
      .toArray()[0];
    return row ? policyOfRow(row) : null;
  }

  /** Names of all stored policies, sorted. */
  listPolicies(): string[] {
    return this.#sql
      .exec<{ name: string }>("SELECT name FROM policies ORDER BY name")
      .toArray()
      .map((row) => row.name);
  }

  /** Creates or replaces the policy `name`. `now` in ms. Refused when all policies together would be too large. */
  writePolicy(name: string, text: string, rulesJson: string, now: number): Result<null, Failure> {
    const others = this.#sql
      .exec<{ length: number | null }>("SELECT SUM(LENGTH(rules)) AS length FROM policies WHERE name <> ?", name)
      .one().length;
    if ((others ?? 0) + rulesJson.length > MAX_RULES_LENGTH) {
      return err(invalid("the policies of this installation would be too large; delete or shorten some"));
    }
    this.#sql.exec(
      `INSERT INTO policies (name, text, rules, version, modified_at) VALUES (?, ?, ?, 1, ?)
       ON CONFLICT (name) DO UPDATE
       SET text = excluded.text, rules = excluded.rules, version = version + 1, modified_at = excluded.modified_at`,
      name,
      text,
      rulesJson,
      now,
    );
    this.#changed();
    return ok(null);
  }

  /** Deletes the policy `name`. Safe to repeat. */
  deletePolicy(name: string): void {
    this.#sql.exec("DELETE FROM policies WHERE name = ?", name);
    this.#changed();
  }

  /** Adds a mount. Two that are enabled at once can't both get one place. */
  enableMount(mount: Mount): Result<null, Failure> {
    const problem = mountPathProblem(mount.path, this.#mounts());
    if (problem) return err(invalid(problem));
    this.#sql.exec("INSERT INTO mounts (path, mount) VALUES (?, ?)", mount.path, JSON.stringify(mount));
    this.#changed();
    return ok(null);
  }

  /** Changes the settings of the mount at `path`. */
  tuneMount(path: string, change: MountChange): Result<null, Failure> {
    const mount = this.findMount(path);
    if (!mount || mount.disabled) return err(invalid(`No auth engine at ${path}`));
    const tuned = tuneMount(mount, change);
    if (!tuned.ok) return err(invalid(tuned.error));
    this.#replaceMount(tuned.value);
    return ok(null);
  }

  /** The mount at `path`, in service or not. */
  findMount(path: string): Mount | null {
    return this.#mounts().find((mount) => mount.path === path) ?? null;
  }

  /** Takes the mount with this uuid out of service. Safe to repeat. */
  disableMount(path: string, uuid: string): void {
    const mount = this.findMount(path);
    if (mount?.uuid === uuid && !mount.disabled) this.#replaceMount({ ...mount, disabled: true });
  }

  /** Frees the place of the mount with this uuid, which is out of service. Safe to repeat. */
  removeMount(path: string, uuid: string): void {
    const mount = this.findMount(path);
    if (mount?.uuid !== uuid || !mount.disabled) return;
    this.#sql.exec("DELETE FROM mounts WHERE path = ?", path);
    this.#changed();
  }

  #mounts(): Mount[] {
    return this.#sql
      .exec<{ mount: string }>("SELECT mount FROM mounts ORDER BY path")
      .toArray()
      .map((stored) => JSON.parse(stored.mount) as Mount);
  }

  #replaceMount(mount: Mount): void {
    this.#sql.exec("UPDATE mounts SET mount = ? WHERE path = ?", JSON.stringify(mount), mount.path);
    this.#changed();
  }

  #create(): void {
    migrate(this.#sql, MIGRATIONS);
    this.#sql.exec(
      "INSERT INTO installation (id, version, cluster_id, custom_id_filter) VALUES (1, 1, ?, ?)",
      crypto.randomUUID(),
      emptyFilter(),
    );
    const rules = parsePolicy(DEFAULT_POLICY_TEXT, 0);
    if (!rules.ok) throw new Error("the default policy does not parse");
    this.writePolicy(DEFAULT_POLICY, DEFAULT_POLICY_TEXT, JSON.stringify(rules.value), currentTime());
    const mount = tokenMount();
    this.#sql.exec("INSERT INTO mounts (path, mount) VALUES (?, ?)", mount.path, JSON.stringify(mount));
  }

  #installation(): InstallationRow {
    return this.#sql.exec<InstallationRow>("SELECT * FROM installation").one();
  }

  #changed(): void {
    this.#sql.exec("UPDATE installation SET version = version + 1");
  }
}

/** The system object of the installation. */
export function systemOf(env: Env): DurableObjectStub<System> {
  return env.SYSTEM.getByName("system");
}

function policyOfRow(row: PolicyRow): StoredPolicy {
  return {
    name: row.name,
    text: row.text,
    version: row.version,
    modifiedAt: row.modified_at,
  };
}
