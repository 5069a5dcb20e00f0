import { type Route, withCanonicalPath, withParameters } from "../../../auth/route.ts";
import { normalizePolicyName } from "../../../policy/name.ts";
import { POLICY_READ_ROUTES } from "./read.ts";
import { POLICY_WRITE_ROUTES } from "./write.ts";

/** Policies, at the places where clients look for them. */
export const POLICY_ROUTES: readonly Route[] = withParameters(
  { name: "The name of the policy" },
  withCanonicalPath(canonicalPolicyPath, [...POLICY_READ_ROUTES, ...POLICY_WRITE_ROUTES]),
);

/** The path with the name of the policy as it is stored. */
function canonicalPolicyPath(path: string): string {
  return path.replace(/(?<=^sys\/(?:policy|policies\/(?:detailed\/|usage\/)?acl)\/).*$/s, normalizePolicyName);
}
