import { runInDurableObject } from "cloudflare:test";
import type { AuditBatch, AuditEntry } from "../../src/audit/entry.ts";
import { mentionOf } from "../../src/audit/entry.ts";
import { auditDirectoryOf, auditShardAt } from "../../src/audit/object-name.ts";
import { crash } from "./objects.ts";
import { bindings } from "./service.ts";

/** A record about one token, with its number in the line. */
export function entryOf(
  number: number,
  { at = Date.now(), accessor = `a${number}`, path = "sys/auth/x" } = {},
): AuditEntry {
  const line = { type: "response", time: new Date(at).toISOString(), request_id: `r${number}`, path, status: 204 };
  return {
    at,
    line: JSON.stringify(line),
    mentions: [mentionOf("accessor", accessor), mentionOf("request", `r${number}`)],
  };
}

let batches = 0;

export function batchOf(entries: readonly AuditEntry[], more: Partial<AuditBatch> = {}): AuditBatch {
  return { writer: "test", number: ++batches, entries, uses: [], ...more };
}

export const shard = (name: string) => auditShardAt(bindings, name);
export const append = (name: string, batch: AuditBatch) => shard(name).append(name, batch);
export const directory = () => auditDirectoryOf(bindings);

/** Somebody deletes all that an object stores, while it does not run. */
export async function deleteAll(stub: DurableObjectStub): Promise<void> {
  await runInDurableObject(stub, (_, { storage }) => storage.deleteAll());
  await crash(stub);
}

/** The message with which a call fails. */
export async function failure(called: PromiseLike<unknown>): Promise<string> {
  try {
    await called;
  } catch (error) {
    return String(error);
  }
  throw new Error("the call did not fail");
}
