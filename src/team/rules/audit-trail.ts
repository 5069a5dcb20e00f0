import type { AuditLine } from "../../wire/audit.ts";

/** What the trail of an organization shows of a stored line. */
export type TrailLine = Pick<
  AuditLine,
  "time" | "request_id" | "path" | "operation" | "auth" | "token_hash" | "response" | "target_accessor" | "made_id"
>;

const ACTIONS: Readonly<Record<string, string>> = { update: "create", patch: "update", delete: "destroy" };

/**
 * Returns what a request has changed: the type of the resource, its id, and the action. The path of a collection names
 * no resource, so the id is that of what was made or changed, else that of the parent of the collection.
 */
export function trailResource({ path, operation, response, target_accessor: target, made_id: made }: TrailLine) {
  const [place = "", named] = path.split("/actions/", 2);
  const segments = place.split("/");
  const isCollection = segments.length % 2 === 1;
  const [parent = "", last = ""] = segments.slice(-2);
  const id = isCollection ? made || response?.auth?.accessor || target || parent : last;
  const type = (isCollection ? last : parent).replaceAll("-", "_").replace(/ies$/, "ys").replace(/s$/, "");
  return { id, type, action: named ?? ACTIONS[operation] ?? operation };
}
