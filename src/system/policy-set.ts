import { GenerationalCache } from "../base/generational-cache.ts";
import { type Acl, compileAcl } from "../policy/acl.ts";
import { RESPONSE_WRAPPING_POLICY, RESPONSE_WRAPPING_POLICY_TEXT } from "../policy/builtin.ts";
import { ROOT_POLICY } from "../policy/name.ts";
import { builtinRules } from "../policy/parse.ts";
import type { NamedPolicy, PathRule } from "../policy/rule.ts";
import { type TemplateContext, usesClock, usesTemplates } from "../policy/template.ts";
import { storedJson } from "../storage/tables.ts";
import type { PoliciesForIsolates, PolicyRules } from "./policy-store.ts";

/** Size of one generation of the cache of compiled sets of policies, in rules. The names of a set count as well. */
const MAX_COMPILED_RULES = 2 ** 16;
/** This many characters of names count as one rule: a token's names of absent policies may have 250,000 characters. */
const CHARACTERS_OF_RULE = 64;

/** The entity of a caller, as far as templates in policies read it. */
export interface PolicyEntity extends Required<Pick<TemplateContext, "entity" | "groups">> {
  /** Differs after every change of the entity. */
  readonly revision: string;
}

/** The policies of an installation, with a cache of the sets that were compiled from them. */
export class PolicySet {
  readonly #policies: ReadonlyMap<string, KnownPolicy>;
  readonly #tampered: ReadonlySet<string>;
  readonly #acls = new GenerationalCache<string, Acl>(MAX_COMPILED_RULES);
  /** Compiled sets that are valid for every caller, by a cached token's list of names. Such a list never changes. */
  readonly #common = new WeakMap<readonly string[], Acl>();

  constructor({ policies, tampered }: PoliciesForIsolates) {
    this.#tampered = new Set(tampered);
    const known = [...policies.map(policyWithRules), ...BUILT_IN];
    this.#policies = new Map(known.map((policy) => [policy.name, policy]));
  }

  /** True when a policy of this name exists at `now` (ms), built-in or written. */
  has(name: string, now: number): boolean {
    const policy = this.#policies.get(name);
    return policy !== undefined && (policy.expiresAt === null || now <= policy.expiresAt);
  }

  /**
   * Returns the rules of a set of policies for one caller. Unknown names grant nothing. The set is compiled once for
   * all callers. A set with templates is compiled once for each revision of an entity.
   *
   * @param entity null for a caller without one.
   * @param now ms.
   */
  aclFor(names: readonly string[], entity: PolicyEntity | null, now: number): Acl {
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
  /** ms; null: never. */
  readonly expiresAt: number | null;
}

/** Reads the rules of a stored policy. No rule outlives the expiry of the policy. */
function policyWithRules({ name, rulesJson, expiresAt, allowSlashes, allowWildcards }: PolicyRules): KnownPolicy {
  const stored = storedJson<PathRule[]>(rulesJson);
  const until = (rule: PathRule, end: number) => ({ ...rule, expiresAt: Math.min(rule.expiresAt ?? end, end) });
  const rules = expiresAt === null ? stored : stored.map((rule) => until(rule, expiresAt));
  const templated = usesTemplates(rules);
  return { name, rules, allowSlashes, allowWildcards, expiresAt, templated, timed: templated && usesClock(rules) };
}

const BUILT_IN: readonly KnownPolicy[] = [
  { name: RESPONSE_WRAPPING_POLICY, rules: builtinRules(RESPONSE_WRAPPING_POLICY_TEXT) },
  { name: ROOT_POLICY, rules: [] },
].map((policy) => ({ ...policy, templated: false, timed: false, expiresAt: null }));
