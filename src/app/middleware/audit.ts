import { AuditRecord } from "../../auth/audit-record.ts";
import { operationOf, type RequestHead } from "../../wire/request.ts";
import type { Answer, Middleware } from "../context.ts";
import { unservedPathOf } from "../unserved-path.ts";

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
