import { policyPathOf } from "./href.ts";

/** A capability. A write that may create or change needs one of two. */
type Needed = "read" | "list" | "update" | "create or update" | "patch" | "delete" | "sudo";

/** The capabilities that an action needs on a path. */
export type Needs = readonly [path: string, ...capabilities: Needed[]];

const BY_METHOD = { GET: "read", POST: "create or update", PATCH: "patch", DELETE: "delete" } as const;

/** Paths that also need `sudo`, of those that the console writes to. */
const PROTECTED = /^sys\/(?:auth\/.|audit\/|tokens(?:\/|$)|rotate$|leases\/revoke-prefix\/)/;

/** The capabilities that a call needs. */
export function needsOf(path: string, method: keyof typeof BY_METHOD = "POST"): Needs {
  const asked = policyPathOf(path);
  return [asked, BY_METHOD[method], ...(PROTECTED.test(asked) ? (["sudo"] as const) : [])];
}

/** The missing capabilities; none when the capabilities are unknown. */
export function missingOf([, ...needed]: Needs, has: readonly string[] | undefined): readonly string[] {
  if (!has || has.includes("root")) return [];
  return needed.filter((one) => !one.split(" or ").some((capability) => has.includes(capability)));
}

/** Why the policies refuse it; "" when they allow it, or that is unknown. */
export function refusalOf(needs: Needs, has: readonly string[] | undefined): string {
  const missing = missingOf(needs, has);
  return missing.length === 0 ? "" : `your policies lack ${missing.join(" and ")} on ${needs[0]}`;
}
