/** The text of a new policy, unless another one is typed. */
export const FIRST_POLICY = `# What a token of this login may do: add the paths that it needs.
path "auth/token/lookup-self" {
  capabilities = ["read"]
}
`;

/** For people who look at everything in the console, and change nothing. */
export const READER_POLICY = `# Reads all pages of the console, and changes nothing.
path "sys/tokens" { capabilities = ["read", "sudo"] }
path "sys/tokens/*" { capabilities = ["read", "sudo"] }
path "sys/tokens/find" { capabilities = ["update", "sudo"] }
path "sys/tokens/verify-ended" { capabilities = ["update", "sudo"] }
path "sys/leases" { capabilities = ["read", "sudo"] }
path "sys/leases/lookup" { capabilities = ["update", "list", "sudo"] }
path "sys/leases/lookup/*" { capabilities = ["list", "sudo"] }
path "sys/leases/revocations" { capabilities = ["read", "sudo"] }
path "sys/policies/*" { capabilities = ["read", "list", "sudo"] }
path "sys/auth" { capabilities = ["read"] }
path "sys/auth/*" { capabilities = ["read", "sudo"] }
path "sys/audit/events" { capabilities = ["read", "update", "sudo"] }
path "sys/explain/access" { capabilities = ["update", "sudo"] }
path "sys/capabilities-policy" { capabilities = ["update"] }
path "sys/doctor" { capabilities = ["read", "sudo"] }
path "sys/metrics" { capabilities = ["read"] }
path "sys/metrics/*" { capabilities = ["read"] }
path "sys/quotas/rate-limit" { capabilities = ["list"] }
path "sys/quotas/rate-limit/*" { capabilities = ["read"] }
path "sys/key-status" { capabilities = ["read"] }
path "sys/rotate/config" { capabilities = ["read"] }
path "sys/internal/counters/tokens" { capabilities = ["read"] }
path "auth/token/tidy-status" { capabilities = ["read"] }
path "auth/token/roles" { capabilities = ["list"] }
path "auth/token/roles/*" { capabilities = ["read"] }
path "auth/+/config" { capabilities = ["read"] }
path "auth/+/config/*" { capabilities = ["read", "list"] }
path "auth/+/role/" { capabilities = ["list"] }
path "auth/+/role/+" { capabilities = ["read"] }
path "auth/+/roles" { capabilities = ["list"] }
path "auth/+/identity-accesslist/*" { capabilities = ["read", "list"] }
path "auth/+/roletag-denylist/*" { capabilities = ["read", "list"] }
path "auth/+/explain/login" { capabilities = ["update"] }
path "auth/+/explain/refused" { capabilities = ["read"] }
path "identity/entity/*" { capabilities = ["read", "list"] }
path "identity/group/*" { capabilities = ["read", "list"] }
path "identity/lookup/+" { capabilities = ["update"] }
path "identity/oidc/config" { capabilities = ["read"] }
path "identity/oidc/key/*" { capabilities = ["read", "list"] }
path "identity/oidc/role/*" { capabilities = ["read", "list"] }
path "organizations" { capabilities = ["read"] }
path "organizations/*" { capabilities = ["read"] }
path "teams/*" { capabilities = ["read"] }
`;

/** What people see in the console with a policy that opens some pages. */
export function openedText(pages: readonly string[]): string {
  if (pages.length === 0) return "With it people sign in, and see their own session and nothing else.";
  return `With it people open in the console: ${pages.join(", ")}.`;
}
