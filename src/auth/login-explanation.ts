import type { Failure } from "../base/errors.ts";
import type { Installation } from "../system/installation.ts";
import type { LoginPlan } from "../token/rules/login.ts";
import type { Shape } from "../wire/shape.ts";
import { policyWarnings } from "./policy-warning.ts";

/** The checks of a login, as `explain/login` of every method answers them. */
export const CHECKS_SHAPE = [
  {
    name: "string",
    description: "string",
    outcome: "string",
    bound: ["string"],
    actual: "string | null",
    message: "string | null",
  },
] as const satisfies Shape;

/** The token that an explained login would get. */
export const PLANNED_TOKEN_SHAPE = {
  token_policies: ["string"],
  "identity_policies?": ["string"],
  token_type: "string",
  expiration_time: "string | null",
} as const satisfies Shape;

/** A token that a login would get, and what its answer would warn of. */
export interface PlannedToken {
  readonly token: Record<string, unknown>;
  readonly warnings: readonly string[];
}

/** What a refused login would be answered, in words. */
export function failureText(failure: Failure): string {
  return "message" in failure ? failure.message : failure.code.replaceAll("_", " ");
}

/**
 * The token of a plan. Times in RFC 3339; null for a token that does not end.
 *
 * @param identityPolicies of the entity that the login would find.
 */
export function renderPlannedToken(
  installation: Installation,
  { spec: { record, type, expiresAt }, warnings }: LoginPlan,
  identityPolicies: readonly string[],
): PlannedToken {
  return {
    token: {
      token_policies: record.policies,
      ...(identityPolicies.length > 0 && { identity_policies: identityPolicies }),
      token_type: type,
      expiration_time: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    },
    warnings: [...warnings, ...policyWarnings(installation, [...record.policies, ...identityPolicies])],
  };
}
