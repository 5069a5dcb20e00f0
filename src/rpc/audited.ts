import { AuditRecord } from "../auth/audit-record.ts";
import type { Caller } from "../auth/caller.ts";
import { initializeForDevelopment } from "../auth/initialize.ts";
import type { Failure } from "../base/errors.ts";
import { err, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Operation } from "../policy/acl.ts";
import { type Installation, loadInstallation } from "../system/installation.ts";
import type { AuditNotes } from "../wire/audit.ts";
import { failureOfException } from "../wire/exception.ts";
import { toWire } from "../wire/failure.ts";

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

/** What came of a call, with the caller as far as it is known. */
export interface Answered<T> {
  readonly result: Result<T, Failure>;
  readonly caller: Caller | null;
}

/**
 * Answers a call of another Worker, with its lines in the audit log. Whatever goes wrong becomes a failure: a thrown error
 * would leave it to the calling Worker to refuse. A caller that is gone changes nothing: what was begun is finished.
 */
export function audited<T>(
  env: Env,
  ctx: Pick<ExecutionContext, "waitUntil">,
  asked: Asked,
  answer: (installation: Installation, notes: AuditNotes) => Promise<Answered<T>>,
): Promise<Result<T, Failure>> {
  const work = answerOnRecord(env, asked, answer);
  ctx.waitUntil(work);
  return work;
}

async function answerOnRecord<T>(
  env: Env,
  { operation, path, clientAddress, token, data, acts }: Asked,
  answer: (installation: Installation, notes: AuditNotes) => Promise<Answered<T>>,
): Promise<Result<T, Failure>> {
  const id = crypto.randomUUID();
  const notes: AuditNotes = {};
  const record = new AuditRecord("rpc", id, { operation, path, clientAddress, token, data, notes });
  let answered: Answered<T>;
  try {
    const loaded = await load(env);
    if (loaded.ok) record.learn({}, loaded.value);
    if (loaded.ok && acts) await record.begin();
    answered = loaded.ok ? await answer(loaded.value, notes) : { result: loaded, caller: null };
  } catch (error) {
    answered = { result: err(failureOfException(error, id)), caller: null };
  }
  const { result, caller } = answered;
  await record.end({ status: result.ok ? 200 : toWire(result.error).status, result, caller, reply: null });
  return result;
}

async function load(env: Env): Promise<Result<Installation, Failure>> {
  const notReady = await initializeForDevelopment(env);
  return notReady ? err(notReady) : loadInstallation(env);
}
