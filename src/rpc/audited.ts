import type { Refusal } from "../../client/types.ts";
import { AuditRecord, type AuditSubject } from "../auth/audit-record.ts";
import { openInstallation } from "../auth/open-installation.ts";
import { err, type Failure, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import type { AuditNotes } from "../wire/audit.ts";
import { failureOfException, toWire } from "../wire/failure.ts";

/** A call of another Worker, for the audit log. */
export interface AuditedCall extends Omit<AuditSubject, "notes"> {
  /** True when the call changes something. It is then logged before it acts. */
  readonly acts: boolean;
}

/** Performs the call, and adds notes for the audit log. `id` is the id of the call in the log. */
type Answer<T> = (installation: Installation, notes: AuditNotes, id: string) => Promise<Result<T>>;

/**
 * Answers a call of another Worker and logs it. Exceptions become failures, because a calling Worker could treat an exception
 * as a permission. The call is completed even if the caller disconnects.
 */
export function audited<T>(
  env: Env,
  ctx: Pick<ExecutionContext, "waitUntil">,
  asked: AuditedCall,
  answer: Answer<T>,
): Promise<Result<T>> {
  const work = answerOnRecord(env, asked, answer);
  ctx.waitUntil(work);
  return work;
}

async function answerOnRecord<T>(env: Env, { acts, ...asked }: AuditedCall, answer: Answer<T>): Promise<Result<T>> {
  const id = crypto.randomUUID();
  const notes: AuditNotes = {};
  const record = new AuditRecord(env, "rpc", id, { ...asked, notes });
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

/** Reasons by failure code. The reason of any other failure is "invalid". */
const REASONS: Readonly<Partial<Record<Failure["code"], Refusal["reason"]>>> = {
  unauthenticated: "unauthenticated",
  bad_token: "unauthenticated",
  permission_denied: "denied",
  forbidden: "denied",
  sealed: "unavailable",
  uninitialized: "unavailable",
  unavailable: "unavailable",
  rate_limited: "unavailable",
  internal: "unavailable",
};

/** Returns a failure in the form for other Workers. */
export function refusalOf(failure: Failure): Refusal {
  return { reason: REASONS[failure.code] ?? "invalid", message: toWire(failure).errors[0] ?? "not found" };
}
