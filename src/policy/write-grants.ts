import type { Verdict } from "./acl.ts";

/** What policies grant on the path of a write. */
export type WriteGrants = Pick<Verdict, "create" | "update">;

/** A write needs `create` for a record that does not exist yet (null), and `update` for one that does. */
export function mayWrite(before: unknown, { create, update }: WriteGrants): boolean {
  return before === null ? create : update;
}
