import { runInDurableObject } from "cloudflare:test";
import type { AuditBatch, AuditEntry } from "../../src/audit/entry.ts";
import { mentionOf } from "../../src/audit/entry.ts";
import { auditDirectoryOf, auditShardAt } from "../../src/audit/object-name.ts";
import { crash } from "./objects.ts";
import { bindings, initialized } from "./service.ts";

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

/**
 * Puts `rows` rows of ten records each before those that an object is going to store: with mentions of their own, and
 * contents that nothing can read. The object begins anew.
 */
export async function plantRows(name: string, rows: number, at: number): Promise<void> {
  const stub = shard(name);
  await runInDurableObject(stub, (_, { storage: { sql } }) => {
    const numbers = "WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ?)";
    sql.exec(
      `${numbers} INSERT INTO batches SELECT 10 * n + 2, 10, ? + n, ? + n, '', x'00', NULL FROM n`,
      ...[rows - 1, at, at],
    );
    sql.exec(`${numbers} INSERT INTO mentions SELECT abs(random()) >> 12, n + 2 FROM n`, 10 * rows - 1);
  });
  await crash(stub);
}

/** Initialises the service for a test whose objects have no records but its own: requests write none. */
export async function initializedAlone(): Promise<string> {
  Object.assign(bindings, { AUDIT_STORE: "off" });
  return initialized();
}
