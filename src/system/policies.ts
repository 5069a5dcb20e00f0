import type { Ms } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import { type Acl, compileAcl } from "../policy/acl.ts";
import { builtinRules, RESPONSE_WRAPPING_POLICY_TEXT } from "../policy/builtin.ts";
import { parsePolicy } from "../policy/parse.ts";
import { RESPONSE_WRAPPING_POLICY, ROOT_POLICY } from "../policy/policy-names.ts";
import type { NamedPolicy, PathRule } from "../policy/rule.ts";
import { type TemplateContext, usesClock, usesTemplates } from "../policy/template.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { columnOf, storedJson } from "../storage/tables.ts";
import { SystemStore, type SystemTables } from "./part-versions.ts";
import type { PolicyVersion, PolicyVersionStore } from "./policy-versions.ts";
import type { Actor } from "./revocation-origin.ts";
import type { PolicySettings, StoredPolicy } from "./stored-policy.ts";

/** The text of a policy and its parsed rules. */
export interface PolicyText {
  readonly text: string;
  /** JSON of a list of `PathRule`. */
  readonly rulesJson: string;
}

/** A write that creates or replaces a policy. */
export interface PolicyWrite extends PolicySettings {
  readonly content: PolicyText;
  /** The version that the writer has seen, -1 or 0 for no policy; null when the writer sent none. */
  readonly cas: number | null;
}

/** A partial change of a policy. undefined keeps the stored value; without `cas` the policy may have any version. */
export type PolicyPatch = { readonly [K in keyof PolicyWrite]: PolicyWrite[K] | undefined };

/**
 * Maximum length of the rules of all policies together, in characters. Every isolate gets all of them in one message,
 * which the platform limits to 32 MiB. Beyond that no request could be served, not even one that deletes a policy.
 */
const MAX_RULES_LENGTH = 8 * 1024 * 1024;

interface PolicyColumns extends Record<string, SqlStorageValue> {
  name: string;
  text: string;
  rules: string;
  version: number;
  modified_at: Ms;
  expires_at: Ms | null;
  cas_required: number;
  allow_slashes: number;
  allow_wildcards: number;
}

/** The seal covers every column. */
const SHAPE: TableShape = {
  table: "policies",
  kind: "policy",
  key: ["name"],
  sealed: ["text", "rules", "version", "modified_at", "expires_at", "cas_required", "allow_slashes", "allow_wildcards"],
};

const ALIVE = "(expires_at IS NULL OR expires_at >= ?)";

/** The table of policies. An expired policy counts as absent. The next write of any policy deletes it. */
export class PolicyStore extends SystemStore {
  readonly #sealed = new SealedTable<PolicyColumns>(this.sql, this.seals, SHAPE);
  /** The policies of the last `rules()`: a policy is parsed again only when its text has changed. */
  #parsed: ReadonlyMap<string, PolicyText> = new Map();
  readonly #versions: () => PolicyVersionStore;

  constructor(tables: SystemTables, versions: () => PolicyVersionStore) {
    super(tables);
    this.#versions = versions;
  }

  read(name: string, now: Ms): StoredPolicy | null {
    const row = this.#find(name, now);
    return row && storedPolicy(row);
  }

  /** The kept versions of the policy `name`, the newest first; none of a policy that does not exist. */
  versions(name: string, now: Ms): PolicyVersion[] {
    const current = this.read(name, now);
    return current ? this.#versions().all(current) : [];
  }

  names(now: Ms): string[] {
    return columnOf(this.sql, `SELECT name FROM policies WHERE ${ALIVE} ORDER BY name`, now);
  }

  /**
   * All policies for isolates, which check the expiry themselves, and the names of those that were tampered with. The
   * rules are those of the text, which operators are shown. The stored rules count only for a text that an earlier
   * release accepted and this one does not.
   */
  rules() {
    const { good, tampered } = this.#sealed.judged("ORDER BY name");
    const parsed = new Map<string, PolicyText>();
    const policies = good.map((row) => {
      const { name, text, rules } = row;
      const known = this.#parsed.get(name);
      const read = known?.text === text ? known : { text, rulesJson: rulesOf(text) ?? rules };
      parsed.set(name, read);
      return { ...settingsOfRow(row), name, rulesJson: read.rulesJson };
    });
    this.#parsed = parsed;
    return { policies, tampered: tampered.map(({ name }) => name) };
  }

  /**
   * Creates or replaces a policy. Refused when `cas` does not match, or when all policies would be too large.
   *
   * @param by the token that writes it; null when it is not known.
   */
  write(name: string, write: PolicyWrite, now: Ms, by: Actor | null): Result<null> {
    return this.#put(name, this.read(name, now), write, now, by);
  }

  /** Changes the fields of a policy that `patch` sets. Refused like `write`, and when there is no such policy. */
  patch(name: string, patch: PolicyPatch, now: Ms, by: Actor | null): Result<null> {
    const row = this.#find(name, now);
    if (!row) return refuse("policy not found");
    const stored = storedPolicy(row);
    const write = {
      content: patch.content ?? { text: row.text, rulesJson: row.rules },
      expiresAt: patch.expiresAt === undefined ? stored.expiresAt : patch.expiresAt,
      casRequired: patch.casRequired ?? stored.casRequired,
      allowSlashes: patch.allowSlashes ?? stored.allowSlashes,
      allowWildcards: patch.allowWildcards ?? stored.allowWildcards,
      cas: patch.cas ?? stored.version,
    };
    return this.#put(name, stored, write, now, by);
  }

  /** Deletes the policy `name` with its versions, if it has the version `cas`, or any for null: safe to repeat. */
  delete(name: string, cas: number | null, now: Ms): Result<null> {
    const problem = cas === null ? null : checkAndSetProblem(this.read(name, now), { cas, casRequired: false });
    if (problem) return refuse(problem);
    this.#sealed.delete(name);
    this.changed("policies");
    return ok(null);
  }

  #find(name: string, now: Ms): PolicyColumns | null {
    return this.#sealed.list(`WHERE name = ? AND ${ALIVE}`, name, now)[0] ?? null;
  }

  #put(name: string, stored: StoredPolicy | null, write: PolicyWrite, now: Ms, by: Actor | null): Result<null> {
    const problem = checkAndSetProblem(stored, write);
    if (problem) return refuse(problem);
    this.sql.exec("DELETE FROM policies WHERE expires_at < ?", now);
    const lengthOfOthers = "SELECT COALESCE(SUM(LENGTH(rules)), 0) FROM policies WHERE name <> ?";
    const [others = 0] = columnOf<number>(this.sql, lengthOfOthers, name);
    if (others + write.content.rulesJson.length > MAX_RULES_LENGTH) {
      return refuse("the policies of this installation would be too large; delete or shorten some");
    }
    const [version = 0] = columnOf<number>(this.sql, "SELECT version FROM policies WHERE name = ?", name);
    const row = {
      name,
      text: write.content.text,
      rules: write.content.rulesJson,
      version: version + 1,
      modified_at: now,
      expires_at: write.expiresAt,
      cas_required: write.casRequired ? 1 : 0,
      allow_slashes: write.allowSlashes ? 1 : 0,
      allow_wildcards: write.allowWildcards ? 1 : 0,
    };
    this.#sealed.put(row);
    this.#versions().note(stored, storedPolicy(row), by);
    this.changed("policies");
    return ok(null);
  }
}

/**
 * Message that refuses a write by its check-and-set version, or null. `cas` is the version that the writer has seen, -1
 * or 0 for no policy yet. It must be given when `casRequired` is set in the stored policy or in this write.
 * Messages are the reference's (sys/policies/acl).
 */
export function checkAndSetProblem(
  stored: Pick<StoredPolicy, "version" | "casRequired"> | null,
  write: Pick<PolicyWrite, "cas" | "casRequired">,
): string | null {
  if (write.cas === null) {
    return stored?.casRequired || write.casRequired ? "check-and-set parameter required for this call" : null;
  }
  if (stored && write.cas === -1) return "check-and-set parameter set to -1 on existing entry";
  const isSeen = stored ? write.cas === stored.version : write.cas === -1 || write.cas === 0;
  return isSeen ? null : "check-and-set parameter did not match the current version";
}

/** The rules of a text as JSON; null for a text that this release refuses. Rules that have expired are included. */
function rulesOf(text: string): string | null {
  const parsed = parsePolicy(text, 0);
  return parsed.ok ? JSON.stringify(parsed.value) : null;
}

function storedPolicy(row: PolicyColumns): StoredPolicy {
  return { ...settingsOfRow(row), name: row.name, text: row.text, version: row.version, modifiedAt: row.modified_at };
}

function settingsOfRow(row: PolicyColumns): PolicySettings {
  return {
    expiresAt: row.expires_at,
    casRequired: row.cas_required === 1,
    allowSlashes: row.allow_slashes === 1,
    allowWildcards: row.allow_wildcards === 1,
  };
}

/** Size of one generation of the cache of compiled sets of policies, in rules. The names of a set count as well. */
const MAX_COMPILED_RULES = 48 * 1024;
/** This many characters of names count as one rule: a token's names of absent policies may have 250,000 characters. */
const CHARACTERS_OF_RULE = 64;

type ForIsolates = ReturnType<PolicyStore["rules"]>;

/** The entity of a caller, as far as templates in policies read it. */
interface PolicyEntity extends Required<Pick<TemplateContext, "entity" | "groups">> {
  /** Differs after every change of the entity. */
  readonly revision: string;
}

/** The policies of an installation, with a cache of the sets that were compiled from them. */
export class PolicySet {
  readonly #policies: ReadonlyMap<string, KnownPolicy>;
  readonly #tampered: ReadonlySet<string>;
  readonly #acls = new GenerationalCache<string, Acl>(MAX_COMPILED_RULES);
  /** Compiled sets without templates, by identity of the list of names: the list of a cached token never changes. */
  readonly #common = new WeakMap<readonly string[], Acl>();

  constructor({ policies, tampered }: ForIsolates) {
    this.#tampered = new Set(tampered);
    const known = [...policies.map(policyWithRules), ...BUILT_IN];
    this.#policies = new Map(known.map((policy) => [policy.name, policy]));
  }

  /** The names of which no policy exists at `now`, built-in or written. */
  absent(names: readonly string[], now: Ms): string[] {
    return names.filter((name) => {
      const policy = this.#policies.get(name);
      return policy === undefined || (policy.expiresAt !== null && now > policy.expiresAt);
    });
  }

  /**
   * The rules of a set of policies for one caller (null: without an entity) at `now`. Unknown names grant nothing.
   * The set is compiled once for all callers; one with templates once for each revision of an entity.
   */
  aclFor(names: readonly string[], entity: PolicyEntity | null, now: Ms): Acl {
    const common = this.#common.get(names);
    if (common) return common;
    // If only the policy that was tampered with were left out, the others would grant what it denied.
    if (names.some((name) => this.#tampered.has(name))) return compileAcl([], { now });
    const policies = names.flatMap((name) => this.#policies.get(name) ?? []);
    const personal = entity !== null && policies.some(({ templated }) => templated);
    // As JSON: a name that holds a separator must not become two names.
    const key = JSON.stringify(personal ? [names, entity.entity.id, entity.revision] : [names]);
    const cached = this.#acls.get(key);
    const context = personal ? { now, entity: entity.entity, groups: entity.groups } : { now };
    const acl = cached ?? compileAcl(policies, context);
    if (policies.some(({ timed }) => timed)) return acl;
    if (!policies.some(({ templated }) => templated)) this.#common.set(names, acl);
    if (!cached) {
      const ofNames = Math.ceil(key.length / CHARACTERS_OF_RULE);
      const size = policies.reduce((rules, policy) => rules + policy.rules.length, ofNames);
      this.#acls.set(key, acl, size);
    }
    return acl;
  }
}

/** A policy with the properties that decide for whom and how long its compiled rules are valid. */
interface KnownPolicy extends NamedPolicy {
  /** True when its rules contain templates, so that they may differ by entity. */
  readonly templated: boolean;
  /** True when a template of its rules reads the time. */
  readonly timed: boolean;
  /** null: never. */
  readonly expiresAt: Ms | null;
}

/** Reads the rules of a stored policy. No rule outlives the expiry of the policy. */
function policyWithRules(policy: ForIsolates["policies"][number]): KnownPolicy {
  const { name, rulesJson, expiresAt, allowSlashes, allowWildcards } = policy;
  const stored = storedJson<PathRule[]>(rulesJson);
  const until = (rule: PathRule, end: Ms) => ({ ...rule, expiresAt: Math.min(rule.expiresAt ?? end, end) });
  const rules = expiresAt === null ? stored : stored.map((rule) => until(rule, expiresAt));
  const templated = usesTemplates(rules);
  return { name, rules, allowSlashes, allowWildcards, expiresAt, templated, timed: templated && usesClock(rules) };
}

const BUILT_IN: readonly KnownPolicy[] = [
  { name: RESPONSE_WRAPPING_POLICY, rules: builtinRules(RESPONSE_WRAPPING_POLICY_TEXT) },
  { name: ROOT_POLICY, rules: [] },
].map((policy) => ({ ...policy, templated: false, timed: false, expiresAt: null }));
