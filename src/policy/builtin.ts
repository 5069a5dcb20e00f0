import { parsePolicy } from "./parse.ts";
import type { PathRule } from "./rule.ts";

/** The text of `default` in a new installation. */
export const DEFAULT_POLICY_TEXT = `# What every token may do for itself.

# See, renew and revoke itself
path "auth/token/lookup-self" {
  capabilities = ["read"]
}
path "auth/token/renew-self" {
  capabilities = ["update"]
}
path "auth/token/revoke-self" {
  capabilities = ["update"]
}

# Ask what it may do
path "sys/capabilities-self" {
  capabilities = ["update"]
}
path "sys/internal/ui/resultant-acl" {
  capabilities = ["read"]
}

# See the account that it stands for
path "account/details" {
  capabilities = ["read"]
}

# See its own entity, by id or by name
path "identity/entity/id/{{identity.entity.id}}" {
  capabilities = ["read"]
}
path "identity/entity/name/{{identity.entity.name}}" {
  capabilities = ["read"]
}

# Renew and look up a lease whose id it knows
path "sys/leases/renew" {
  capabilities = ["update"]
}
path "sys/leases/lookup" {
  capabilities = ["update"]
}

# Keep things in its own cubbyhole
path "cubbyhole/*" {
  capabilities = ["create", "read", "update", "delete", "list"]
}

# Wrap an answer, look at a wrapping token, and unwrap it
path "sys/wrapping/wrap" {
  capabilities = ["update"]
}
path "sys/wrapping/lookup" {
  capabilities = ["update"]
}
path "sys/wrapping/unwrap" {
  capabilities = ["update"]
}
`;

/** The text of `response-wrapping`, which never changes. */
export const RESPONSE_WRAPPING_POLICY_TEXT = `# The token that holds a wrapped answer may read that answer, and nothing else.
path "cubbyhole/response" {
  capabilities = ["create", "read"]
}
path "sys/wrapping/unwrap" {
  capabilities = ["update"]
}
`;

/** Parses a built-in policy. @throws when it does not parse. */
export function builtinRules(text: string): readonly PathRule[] {
  const parsed = parsePolicy(text, 0);
  if (!parsed.ok) throw new Error("a built-in policy does not parse");
  return parsed.value;
}
