import { randomUUID } from "node:crypto";
import { MAX_PATH_LENGTH } from "../src/base/limits.ts";
import { auditPath, unservedPath } from "../src/wire/audit.ts";
import type { Refusal } from "./refusal.ts";
import type { RequestHead } from "./request-head.ts";

/** A line of the audit log for a request that the gateway answered itself. Holds no secret and no field of a body. */
export interface RefusalLine {
  readonly type: "gateway";
  /** RFC 3339. */
  readonly time: string;
  readonly request_id: string;
  readonly operation: "read" | "list" | "update" | "patch" | "delete" | "unknown";
  /** As in the service's own lines; "" when no head was read. */
  readonly path: string;
  readonly status: number;
  readonly error?: string;
  readonly client_address: string;
}

const OPERATIONS: Readonly<Record<string, RefusalLine["operation"]>> = {
  GET: "read",
  HEAD: "read",
  LIST: "list",
  POST: "update",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/**
 * The line for a refusal.
 *
 * @param head the request, when its head was read
 * @param now ms.
 */
export function refusalLine(
  refusal: Refusal,
  head: Pick<RequestHead, "method" | "target"> | undefined,
  clientAddress: string,
  now: number,
): RefusalLine {
  return {
    type: "gateway",
    time: new Date(now).toISOString(),
    request_id: randomUUID(),
    operation: OPERATIONS[head?.method ?? ""] ?? "unknown",
    path: head === undefined ? "" : loggedPath(head.target),
    status: refusal.status,
    ...(refusal.message !== undefined && { error: refusal.message }),
    client_address: clientAddress,
  };
}

const MALFORMED = "<malformed>";

/** The path without the query, and without what could be a token in it: nothing has checked this request. */
function loggedPath(target: string): string {
  const [path = ""] = target.split("?", 1);
  let decoded: string;
  try {
    decoded = decodeURIComponent(path).replace(/^\/(?:v1|api\/v2)\//, "");
  } catch {
    return MALFORMED;
  }
  return decoded.length > MAX_PATH_LENGTH ? MALFORMED : auditPath(unservedPath(decoded));
}
