import { policyPathOf } from "./href.ts";

/** A capability. "create or update": one of the two is enough. */
type Needed = "read" | "list" | "update" | "create or update" | "patch" | "delete" | "sudo";

/** The capabilities that an action needs on a path. */
export type Needs = readonly [path: string, ...capabilities: Needed[]];

const BY_METHOD = { GET: "read", POST: "create or update", PATCH: "patch", DELETE: "delete" } as const;

/** Paths the console writes to that also need `sudo`. */
const PROTECTED = /^sys\/(?:auth\/.|audit\/|tokens(?:\/|$)|rotate$|leases\/revoke-(?:prefix|force)\/)/;

/** The capabilities that a call needs. */
export function needsOf(path: string, method: keyof typeof BY_METHOD = "POST"): Needs {
  const asked = policyPathOf(path);
  return [asked, BY_METHOD[method], ...(PROTECTED.test(asked) ? (["sudo"] as const) : [])];
}

/** The missing capabilities; empty when the token's capabilities are unknown. */
export function missingOf([, ...needed]: Needs, has: readonly string[] | undefined): readonly string[] {
  if (!has || has.includes("root")) return [];
  return needed.filter((one) => !one.split(" or ").some((capability) => has.includes(capability)));
}

/** Why the policies refuse an action; "" when they allow it, or when that is unknown. */
export function refusalOf(needs: Needs, has: readonly string[] | undefined): string {
  const missing = missingOf(needs, has);
  return missing.length === 0 ? "" : `your policies lack ${missing.join(" and ")} on ${needs[0]}`;
}
