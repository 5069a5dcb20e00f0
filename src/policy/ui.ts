import type { Acl } from "./acl.ts";
import { type Grant, listCapabilities } from "./grant.ts";
import type { ParameterMap } from "./parameters.ts";
import type { ParameterValue } from "./rule.ts";

/** The grant of one path in the answer of `sys/internal/ui/resultant-acl`; keys as on the wire. */
export interface PathSummary {
  readonly capabilities: readonly string[];
  readonly min_wrapping_ttl?: number;
  readonly max_wrapping_ttl?: number;
  readonly allowed_parameters?: Readonly<Record<string, readonly ParameterValue[]>>;
  readonly denied_parameters?: Readonly<Record<string, readonly ParameterValue[]>>;
  readonly required_parameters?: readonly string[];
}

/** All grants of a caller, as in the answer of `sys/internal/ui/resultant-acl`. */
export type ResultantAcl =
  | { readonly root: true }
  | {
      readonly root: false;
      readonly exact_paths: Readonly<Record<string, PathSummary>>;
      readonly glob_paths: Readonly<Record<string, PathSummary>>;
    };

/** Lists the rules valid at `now` (ms) by path. Prefix rules are without their `*`. Leaves out rules with `+`. */
export function resultantAcl(acl: Acl, now: number): ResultantAcl {
  if (acl.isRoot) return { root: true };
  const grants = acl.grants(now);
  return { root: false, exact_paths: summarize(grants, "exact"), glob_paths: summarize(grants, "prefix") };
}

function summarize(grants: readonly Grant[], kind: Grant["pattern"]["kind"]): Record<string, PathSummary> {
  const chosen = grants.filter(({ pattern }) => pattern.kind === kind);
  return Object.fromEntries(chosen.map((grant) => [grant.pattern.text, summary(grant)]));
}

function summary(grant: Grant): PathSummary {
  const { minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max, parameters } = grant;
  return {
    capabilities: listCapabilities(grant),
    ...(min !== null && { min_wrapping_ttl: min }),
    ...(max !== null && { max_wrapping_ttl: max }),
    ...(hasEntries(parameters.allowed) && { allowed_parameters: Object.fromEntries(parameters.allowed) }),
    ...(hasEntries(parameters.denied) && { denied_parameters: Object.fromEntries(parameters.denied) }),
    ...(parameters.required.length > 0 && { required_parameters: parameters.required }),
  };
}

function hasEntries(map: ParameterMap | null): map is ParameterMap {
  return map !== null && map.size > 0;
}
