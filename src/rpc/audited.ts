import type { Refusal } from "../../client/types.ts";
import { AuditRecord } from "../auth/audit-record.ts";
import { openInstallation } from "../auth/initialize.ts";
import { err, type Failure, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Operation } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";
import type { AuditNotes } from "../wire/audit.ts";
import { failureOfException, toWire } from "../wire/failure.ts";

/** What is asked for, for the audit log. */
export interface Asked {
  /** "unknown" for what can't be read. */
  readonly operation: Operation | "unknown";
  readonly path: string;
  readonly clientAddress: string | null;
  /** "" without one. */
  readonly token: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** True when the call changes something, which is on record before it does. */
  readonly acts: boolean;
}

/** Does what is asked for, and adds to the notes what the audit log shall say of it. `id` is that of the call, as the log has it. */
type Answer<T> = (installation: Installation, notes: AuditNotes, id: string) => Promise<Result<T>>;

/**
 * Answers a call of another Worker, with its lines in the audit log. Whatever goes wrong becomes a failure: a thrown error
 * would leave it to the calling Worker to refuse. A caller that is gone changes nothing: what was begun is finished.
 */
export function audited<T>(
  env: Env,
  ctx: Pick<ExecutionContext, "waitUntil">,
  asked: Asked,
  answer: Answer<T>,
): Promise<Result<T>> {
  const work = answerOnRecord(env, asked, answer);
  ctx.waitUntil(work);
  return work;
}

async function answerOnRecord<T>(
  env: Env,
  { operation, path, clientAddress, token, data, acts }: Asked,
  answer: Answer<T>,
): Promise<Result<T>> {
  const id = crypto.randomUUID();
  const notes: AuditNotes = {};
  const record = new AuditRecord("rpc", id, { operation, path, clientAddress, token, data, notes });
  let result: Result<T>;
  try {
    const loaded = await openInstallation(env);
    if (loaded.ok) record.learn({}, loaded.value);
    if (loaded.ok && acts) await record.begin();
    result = loaded.ok ? await answer(loaded.value, notes, id) : loaded;
  } catch (error) {
    result = err(failureOfException(error, id));
  }
  await record.end(result.ok ? 200 : toWire(result.error).status, result, null);
  return result;
}

/** A failure as other Workers get it. */
export function refusalOf(failure: Failure): Refusal {
  return { reason: reasonOf(failure), message: toWire(failure).errors[0] ?? "not found" };
}

function reasonOf(failure: Failure): Refusal["reason"] {
  switch (failure.code) {
    case "unauthenticated":
    case "bad_token":
      return "unauthenticated";
    case "permission_denied":
    case "forbidden":
      return "denied";
    case "sealed":
    case "uninitialized":
    case "unavailable":
    case "rate_limited":
    case "internal":
      return "unavailable";
    default:
      return "invalid";
  }
}
