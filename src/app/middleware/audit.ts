import { AuditRecord } from "../../auth/audit-record.ts";
import { unservedPath } from "../../wire/audit.ts";
import { operationOf, type RequestHead } from "../../wire/request.ts";
import type { Answer, AppContext, Middleware } from "../context.ts";

/** Opens the audit record of a request, and writes its last line. Endpoints write the line before they act. */
export const audit: Middleware = async (c, next) => {
  const record = recordOf(c.get("requestId"), c.get("head"));
  c.set("record", record);
  await next();
  // No endpoint was found, or looked for.
  if (!record.hasPath) record.learn({ path: unservedPathOf(c) });
  const { result } = c.get("answer");
  if (!isOnRecord(result)) return;
  await record.end({ status: c.res.status, result, reply: result.ok ? result.value : null });
};

/** The record of a request of which only the head is known. */
function recordOf(id: string, head: RequestHead): AuditRecord {
  return new AuditRecord("http", id, {
    operation: operationOf(head),
    path: "",
    clientAddress: head.clientAddress,
    token: "",
    data: {},
    notes: {},
  });
}

/** A client that sends too much is on record once for each time that it is shut out, unless the quotas say otherwise. */
function isOnRecord(result: Answer["result"]): boolean {
  return result.ok || result.error.code !== "rate_limited" || result.error.onRecord;
}

/** The path of a request that no endpoint serves, for the log. */
export function unservedPathOf(c: AppContext): string {
  const { path } = c.get("head");
  // One that can't be decoded could hold a token in a spelling that nothing here knows.
  if (!path.ok) return "<malformed>";
  const loaded = c.get("installation");
  const below = loaded.ok && path.value.startsWith("auth/") ? path.value.slice("auth/".length) : null;
  const mount = loaded.ok && below !== null ? loaded.value.mountServing(below) : undefined;
  return unservedPath(path.value, mount && `auth/${mount.path}`);
}
