import { policyPathOf } from "./href.ts";

/** A capability. A write that makes a record or changes it needs one of two. */
type Needed = "read" | "list" | "update" | "create or update" | "patch" | "delete" | "sudo";

/** What something needs: a path, and the capabilities there. */
export type Needs = readonly [path: string, ...capabilities: Needed[]];

const BY_METHOD = { GET: "read", POST: "create or update", PATCH: "patch", DELETE: "delete" } as const;

/** Paths of the service that need `sudo` besides, of those that the console writes to. */
const PROTECTED = /^sys\/(?:auth\/.|tokens(?:\/|$)|rotate$|leases\/revoke-prefix\/)/;

/** What a call needs. */
export function needsOf(path: string, method: keyof typeof BY_METHOD = "POST"): Needs {
  const asked = policyPathOf(path);
  return [asked, BY_METHOD[method], ...(PROTECTED.test(asked) ? (["sudo"] as const) : [])];
}

/** The capabilities that are missing; none where it is not known what there is. */
export function missingOf([, ...needed]: Needs, has: readonly string[] | undefined): readonly string[] {
  if (!has || has.includes("root")) return [];
  return needed.filter((one) => !one.split(" or ").some((capability) => has.includes(capability)));
}

/** Why the policies refuse it; "" where they allow it, or where that is not known. */
export function refusalOf(needs: Needs, has: readonly string[] | undefined): string {
  const missing = missingOf(needs, has);
  return missing.length === 0 ? "" : `your policies lack ${missing.join(" and ")} on ${needs[0]}`;
}
