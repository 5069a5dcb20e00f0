import type { Seconds } from "../base/clock.ts";
import { mergeParameters, type ParameterLimits } from "./parameters.ts";
import type { Pattern } from "./pattern.ts";
import { CAPABILITIES, type Capability, type ParameterRule, type PathRule } from "./rule.ts";

/** One rule and the policy that it comes from. */
export interface SourcedRule {
  readonly policy: string;
  readonly rule: PathRule;
  /** The path of the rule with its templates, as the policy has it. */
  readonly writtenPath: string;
  /** True for the deny that stands for a rule whose templates can't be resolved. It decides before all other rules. */
  readonly isUnresolved?: true;
}

/** The merged rules of one path, from one policy or several. */
export interface Grant {
  readonly pattern: Pattern;
  readonly capabilities: ReadonlySet<Capability>;
  /** The rules that were merged; only those with `deny` when there is one. */
  readonly sources: readonly SourcedRule[];
  /** null when there is no limit. */
  readonly minWrappingTtlSeconds: Seconds | null;
  /** null when there is no limit. */
  readonly maxWrappingTtlSeconds: Seconds | null;
  readonly parameters: ParameterLimits;
  /** Maximum number of entries of a page; null when there is no limit. */
  readonly paginationLimit: number | null;
}

/**
 * Merges the rules of one path, in the order of their policies. Capabilities are united, but a `deny` overrides
 * everything. Of the limits of each kind the smallest applies, so that a minimum may end up above a maximum.
 */
export function mergeRules(pattern: Pattern, sources: readonly SourcedRule[]): Grant {
  const denying = sources.filter(({ rule }) => rule.capabilities.includes("deny"));
  const denies = denying.length > 0;
  // A block with `deny` was read without its limits.
  const merged = denies ? denying : sources;
  const rules = merged.map(({ rule }) => rule);
  return {
    pattern,
    capabilities: new Set<Capability>(denies ? ["deny"] : rules.flatMap((rule) => rule.capabilities)),
    sources: merged,
    minWrappingTtlSeconds: smallest(rules.map((rule) => rule.minWrappingTtlSeconds)),
    maxWrappingTtlSeconds: smallest(rules.map((rule) => rule.maxWrappingTtlSeconds)),
    parameters: {
      allowed: joinParameters(rules.map((rule) => rule.allowedParameters)),
      denied: joinParameters(rules.map((rule) => rule.deniedParameters)),
      required: [...new Set(rules.flatMap((rule) => rule.requiredParameters ?? []))],
    },
    paginationLimit: smallest(rules.map((rule) => rule.paginationLimit)),
  };
}

/** A policy and the path of a rule as the policy has it. */
type WrittenRule = Pick<SourcedRule, "policy" | "writtenPath">;

/** Where the merged rules are written, each place once. */
export function writtenRules({ sources }: Grant): WrittenRule[] {
  const places = sources.map(({ policy, writtenPath }) => ({ policy, writtenPath }));
  return [...new Map(places.map((place) => [JSON.stringify(place), place])).values()];
}

/** The capabilities as clients see them: sorted; `["deny"]` when nothing is granted. */
export function listCapabilities(grant: Grant | null): Capability[] {
  if (!grant || grant.capabilities.size === 0) return ["deny"];
  return CAPABILITIES.filter((capability) => grant.capabilities.has(capability));
}

/** True when a request that has the capability can be refused, by its parameters, its wrapping or its page. */
export function hasLimits({
  minWrappingTtlSeconds,
  maxWrappingTtlSeconds,
  parameters,
  paginationLimit,
}: Grant): boolean {
  const { allowed, denied, required } = parameters;
  const limits = [minWrappingTtlSeconds, maxWrappingTtlSeconds, paginationLimit, allowed, denied];
  return required.length > 0 || limits.some((limit) => limit !== null);
}

/** True unless the rule denies, or has no capability. */
export function grantsAnything(grant: Grant): boolean {
  return grant.capabilities.size > 0 && !grant.capabilities.has("deny");
}

function smallest(limits: readonly (number | undefined)[]): number | null {
  const set = limits.filter((limit) => limit !== undefined);
  return set.length === 0 ? null : set.reduce((a, b) => Math.min(a, b));
}

function joinParameters(lists: readonly (readonly ParameterRule[] | undefined)[]): ParameterLimits["allowed"] {
  const present = lists.filter((list) => list !== undefined);
  return present.length === 0 ? null : mergeParameters(present);
}
