import type { Acl } from "./acl.ts";
import { type Grant, listCapabilities } from "./grant.ts";
import type { ParameterMap } from "./parameters.ts";

/**
 * The rules of a caller that are valid at `now` (ms), by path, in the form of the answer of
 * `sys/internal/ui/resultant-acl`. Prefix rules are without their `*`. Leaves out rules with `+`.
 */
export function resultantAcl(acl: Acl, now: number) {
  if (acl.isRoot) return { root: true as const };
  const grants = acl.grants(now);
  return { root: false as const, exact_paths: summarize(grants, "exact"), glob_paths: summarize(grants, "prefix") };
}

function summarize(grants: readonly Grant[], kind: Grant["pattern"]["kind"]) {
  const chosen = grants.filter(({ pattern }) => pattern.kind === kind);
  return Object.fromEntries(chosen.map((grant) => [grant.pattern.text, summary(grant)]));
}

function summary(grant: Grant) {
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
