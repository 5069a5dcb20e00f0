import type { Capability } from "./rule.ts";

/**
 * The operation of a request. `create_or_update` is a write whose target may or may not exist; `help` is open to every
 * valid token; `head` is granted by no rule.
 */
export type Operation =
  | "read"
  | "list"
  | "scan"
  | "create"
  | "update"
  | "create_or_update"
  | "patch"
  | "delete"
  | "help"
  | "head";

/** True for operations whose path has a slash at the end for policies. */
export function isListing(operation: Operation): boolean {
  return operation === "list" || operation === "scan";
}

/** The capabilities of which an operation needs at least one. */
export const NEEDED: Readonly<Record<Operation, readonly Capability[]>> = {
  read: ["read"],
  list: ["list"],
  scan: ["scan"],
  create: ["create"],
  update: ["update"],
  create_or_update: ["create", "update"],
  patch: ["patch"],
  delete: ["delete"],
  help: [],
  head: [],
};

/** Paths that need `sudo` in addition to the capability of the operation. A trailing `*` matches any text. */
const PROTECTED_PATHS = [
  "auth/token/accessors*",
  "sys/auth/*",
  "sys/audit",
  "sys/audit/*",
  "sys/backup/*",
  "sys/doctor",
  "sys/explain/access",
  "sys/explain/rules",
  "sys/remount",
  "sys/policies/usage/*",
  "sys/policies/versions/*",
  "sys/tokens",
  "sys/tokens/*",
  "sys/raw",
  "sys/raw/*",
  "sys/rotate",
  "sys/rotate/keyring",
  "sys/rotate/root",
  "sys/config/cors",
  "sys/config/auditing/*",
  "sys/config/ui/headers/*",
  "sys/plugins/catalog/*",
  "sys/leases",
  "sys/leases/lookup/*",
  "sys/leases/revocations",
  "sys/leases/revoke-prefix/*",
  "sys/leases/signing-key",
  "sys/leases/revoke-force/*",
  "sys/revoke-prefix/*",
  "sys/revoke-force/*",
  "sys/internal/inspect/*",
  "sys/seal",
  "sys/step-down",
];

const EXACT = new Set(PROTECTED_PATHS.filter((path) => !path.endsWith("*")));
const PREFIXES = PROTECTED_PATHS.filter((path) => path.endsWith("*")).map((path) => path.slice(0, -1));

/**
 * True when `path` (without the base path `/v1/`) is one of the paths that only a caller with `sudo` may use. The path
 * of a listing of `a` is `a/`, so its trailing slash is ignored for exact paths. Help never needs `sudo`.
 */
export function requiresSudo(operation: Operation, path: string): boolean {
  if (operation === "help") return false;
  const plain = path.replace(/^\/+/, "");
  const listed = isListing(operation) ? plain.replace(/\/$/, "") : plain;
  return EXACT.has(listed) || PREFIXES.some((prefix) => plain.startsWith(prefix));
}
