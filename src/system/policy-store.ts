import { ok, type Result, refuse } from "../base/result.ts";
import { checkAndSetProblem } from "../policy/write.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../storage/sealed-table.ts";
import { columnOf } from "../storage/tables.ts";
import type { PartVersionStore } from "./part-versions.ts";

/** The table of policies. */
export const POLICY_TABLE = `
  CREATE TABLE policies (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    rules TEXT NOT NULL,
    version INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    expires_at INTEGER,
    cas_required INTEGER NOT NULL,
    allow_slashes INTEGER NOT NULL,
    allow_wildcards INTEGER NOT NULL,
    seal BLOB
  ) WITHOUT ROWID;
`;

/** What belongs to a policy beside its text. */
interface PolicySettings {
  /** ms; null: never. After this moment the policy counts as absent. */
  readonly expiresAt: number | null;
  /** Writes must say which version they have seen. */
  readonly casRequired: boolean;
  /** Values that templates insert may hold `/`. */
  readonly allowSlashes: boolean;
  /** Values that templates insert may hold `*` and `+`. */
  readonly allowWildcards: boolean;
}

/** A policy as the operator wrote it. */
export interface StoredPolicy extends PolicySettings {
  readonly name: string;
  readonly text: string;
  /** Counts the writes of this name, from 1. */
  readonly version: number;
  /** ms. */
  readonly modifiedAt: number;
}

/** A policy as requests need it: the rules, read from the text once, at the write. */
export interface PolicyRules extends PolicySettings {
  readonly name: string;
  /** JSON of a list of `PathRule`. */
  readonly rulesJson: string;
}

/** A text with the rules that were read from it, as JSON. */
export interface PolicyText {
  readonly text: string;
  readonly rulesJson: string;
}

/** A write that replaces a policy or makes it. */
export interface PolicyWrite extends PolicySettings {
  readonly content: PolicyText;
  /** The version that the writer has seen, -1 for none; null when it does not say. */
  readonly cas: number | null;
}

/** A write that changes what it names of a policy; undefined keeps what is there. */
export interface PolicyPatch {
  readonly content: PolicyText | undefined;
  readonly expiresAt: number | null | undefined;
  readonly casRequired: boolean | undefined;
  readonly allowSlashes: boolean | undefined;
  readonly allowWildcards: boolean | undefined;
  /** null: whatever version is there. */
  readonly cas: number | null;
}

/**
 * Characters of the rules of all policies together. Every isolate is sent all of them in one message, which the platform
 * limits to 32 MiB: beyond that no request could be served, not even one that deletes a policy.
 */
const MAX_RULES_LENGTH = 8 * 1024 * 1024;

interface SettingsRow extends Record<string, SqlStorageValue> {
  name: string;
  expires_at: number | null;
  cas_required: number;
  allow_slashes: number;
  allow_wildcards: number;
}

interface PolicyColumns extends SettingsRow {
  text: string;
  rules: string;
  version: number;
  modified_at: number;
}

type PolicyRow = WithSeal<PolicyColumns>;

/** The seal covers all that a row says. */
const SHAPE: TableShape = {
  table: "policies",
  kind: "policy",
  key: ["name"],
  sealed: ["text", "rules", "version", "modified_at", "expires_at", "cas_required", "allow_slashes", "allow_wildcards"],
};

const ALIVE = "(expires_at IS NULL OR expires_at >= ?)";

/** The policies for isolates. */
export interface PoliciesForIsolates {
  readonly policies: readonly PolicyRules[];
  /** Names of policies that were tampered with. Every token with one is refused: its rules may have denied something. */
  readonly tampered: readonly string[];
}

/** The table of policies. An expired one is as good as none, and goes with the next write of any. Times in ms. */
export class PolicyStore {
  readonly #sql: SqlStorage;
  readonly #sealed: SealedTable<PolicyColumns>;
  readonly #versions: PartVersionStore;

  constructor(sql: SqlStorage, seals: RowSeals, versions: PartVersionStore) {
    this.#sql = sql;
    this.#versions = versions;
    this.#sealed = new SealedTable(sql, seals, SHAPE);
  }

  /** The policy `name` at `now`, or null. */
  read(name: string, now: number): StoredPolicy | null {
    const row = this.#find(name, now);
    return row && policyOfRow(row);
  }

  /** Names at `now`, sorted. */
  names(now: number): string[] {
    return columnOf(this.#sql, `SELECT name FROM policies WHERE ${ALIVE} ORDER BY name`, now);
  }

  /** All policies for isolates, which look at the expiry themselves. */
  rules(): PoliciesForIsolates {
    const { good, tampered } = this.#sealed.judged("ORDER BY name");
    return {
      policies: good.map((row) => ({ ...settingsOfRow(row), name: row.name, rulesJson: row.rules })),
      tampered: tampered.map(({ name }) => name),
    };
  }

  /** Makes or replaces a policy. Refused when the writer has seen another version, or all policies would be too large. */
  write(name: string, write: PolicyWrite, now: number): Result<null> {
    const problem = checkAndSetProblem(this.read(name, now), write);
    return problem ? refuse(problem) : this.#put(name, write, now);
  }

  /** Changes what a patch names of a policy. */
  patch(name: string, patch: PolicyPatch, now: number): Result<null> {
    const row = this.#find(name, now);
    if (!row) return refuse("policy not found");
    const stored = policyOfRow(row);
    const write: PolicyWrite = {
      content: patch.content ?? { text: row.text, rulesJson: row.rules },
      expiresAt: patch.expiresAt === undefined ? stored.expiresAt : patch.expiresAt,
      casRequired: patch.casRequired ?? stored.casRequired,
      allowSlashes: patch.allowSlashes ?? stored.allowSlashes,
      allowWildcards: patch.allowWildcards ?? stored.allowWildcards,
      cas: patch.cas ?? stored.version,
    };
    const problem = checkAndSetProblem(stored, write);
    return problem ? refuse(problem) : this.#put(name, write, now);
  }

  /**
   * Deletes the policy `name`. Safe to repeat without `cas`.
   *
   * @param cas the version that the caller has seen: another one is not deleted; null for any. `now` in ms.
   */
  delete(name: string, cas: number | null, now: number): Result<null> {
    const problem = cas === null ? null : checkAndSetProblem(this.read(name, now), { cas, casRequired: false });
    if (problem) return refuse(problem);
    this.#sealed.delete(name);
    this.#versions.change("policies");
    return ok(null);
  }

  #find(name: string, now: number): PolicyRow | null {
    return this.#sealed.list(`WHERE name = ? AND ${ALIVE}`, name, now)[0] ?? null;
  }

  #put(name: string, write: PolicyWrite, now: number): Result<null> {
    this.#sql.exec("DELETE FROM policies WHERE expires_at < ?", now);
    const [others = 0] = columnOf<number>(
      this.#sql,
      "SELECT COALESCE(SUM(LENGTH(rules)), 0) FROM policies WHERE name <> ?",
      name,
    );
    if (others + write.content.rulesJson.length > MAX_RULES_LENGTH) {
      return refuse("the policies of this installation would be too large; delete or shorten some");
    }
    const [version = 0] = columnOf<number>(this.#sql, "SELECT version FROM policies WHERE name = ?", name);
    this.#sealed.put({
      name,
      text: write.content.text,
      rules: write.content.rulesJson,
      version: version + 1,
      modified_at: now,
      expires_at: write.expiresAt,
      cas_required: write.casRequired ? 1 : 0,
      allow_slashes: write.allowSlashes ? 1 : 0,
      allow_wildcards: write.allowWildcards ? 1 : 0,
    });
    this.#versions.change("policies");
    return ok(null);
  }
}

function policyOfRow(row: PolicyRow): StoredPolicy {
  return { ...settingsOfRow(row), name: row.name, text: row.text, version: row.version, modifiedAt: row.modified_at };
}

function settingsOfRow(row: SettingsRow): PolicySettings {
  return {
    expiresAt: row.expires_at,
    casRequired: row.cas_required === 1,
    allowSlashes: row.allow_slashes === 1,
    allowWildcards: row.allow_wildcards === 1,
  };
}
