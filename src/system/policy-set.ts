import { GenerationalCache } from "../base/generational-cache.ts";
import { type Acl, compileAcl } from "../policy/acl.ts";
import { RESPONSE_WRAPPING_POLICY, RESPONSE_WRAPPING_POLICY_TEXT } from "../policy/builtin.ts";
import { ROOT_POLICY } from "../policy/name.ts";
import { builtinRules } from "../policy/parse.ts";
import type { NamedPolicy, PathRule } from "../policy/rule.ts";
import { type TemplateContext, usesClock, usesTemplates } from "../policy/template.ts";
import { storedJson } from "../storage/tables.ts";
import type { PoliciesForIsolates, PolicyRules } from "./policy-store.ts";

/** Rules in the compiled sets of policies that an isolate keeps; the names of a set count as well. */
const MAX_COMPILED_RULES = 2 ** 16;
/** Characters of names that count as a rule: a token may have a quarter of a million, of policies that do not exist. */
const CHARACTERS_OF_RULE = 64;

/** The entity of a caller, as far as templates in policies read it. */
export interface PolicyEntity extends Required<Pick<TemplateContext, "entity" | "groups">> {
  /** Another one after every change. */
  readonly revision: string;
}

/** The policies of an installation, and what was compiled of them. */
export class PolicySet {
  readonly #policies: ReadonlyMap<string, KnownPolicy>;
  readonly #tampered: ReadonlySet<string>;
  readonly #acls = new GenerationalCache<string, Acl>(MAX_COMPILED_RULES);
  /** Those of them that hold for every caller, by the list of names of a token that is known here. Lists never change. */
  readonly #common = new WeakMap<readonly string[], Acl>();

  constructor({ policies, tampered }: PoliciesForIsolates) {
    this.#tampered = new Set(tampered);
    const builtIn = [
      knownPolicy({ name: RESPONSE_WRAPPING_POLICY, rules: RESPONSE_WRAPPING_RULES }, null),
      knownPolicy({ name: ROOT_POLICY, rules: [] }, null),
    ];
    this.#policies = new Map([...policies.map(policyWithRules), ...builtIn].map((policy) => [policy.name, policy]));
  }

  /** True when a policy of this name exists at `now` (ms), built-in or written. */
  has(name: string, now: number): boolean {
    const policy = this.#policies.get(name);
    return policy !== undefined && (policy.expiresAt === null || now <= policy.expiresAt);
  }

  /**
   * The rules of a set of policies for one caller. Unknown names grant nothing. Compiled once for all callers, or where
   * templates are used once for each state of an entity.
   *
   * @param entity null for a caller without one.
   * @param now ms.
   */
  aclFor(names: readonly string[], entity: PolicyEntity | null, now: number): Acl {
    const common = this.#common.get(names);
    if (common) return common;
    // Without the rules that were tampered with, what they denied would be granted by others.
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

/** A policy with what decides how long and for whom its compiled rules are good. */
interface KnownPolicy extends NamedPolicy {
  /** Its rules differ by entity. */
  readonly templated: boolean;
  /** Its rules differ by the moment. */
  readonly timed: boolean;
  /** ms; null: never. */
  readonly expiresAt: number | null;
}

/** A stored policy with its rules; one that expires has no rule that outlives it. */
function policyWithRules({ name, rulesJson, expiresAt, allowSlashes, allowWildcards }: PolicyRules): KnownPolicy {
  const rules = storedJson<PathRule[]>(rulesJson);
  const alive = expiresAt === null ? rules : rules.map((rule) => endingBy(rule, expiresAt));
  return knownPolicy({ name, rules: alive, allowSlashes, allowWildcards }, expiresAt);
}

function endingBy(rule: PathRule, expiresAt: number): PathRule {
  return { ...rule, expiresAt: Math.min(rule.expiresAt ?? expiresAt, expiresAt) };
}

function knownPolicy(policy: NamedPolicy, expiresAt: number | null): KnownPolicy {
  const templated = usesTemplates([policy]);
  return { ...policy, templated, timed: templated && usesClock([policy]), expiresAt };
}

const RESPONSE_WRAPPING_RULES = builtinRules(RESPONSE_WRAPPING_POLICY_TEXT);
