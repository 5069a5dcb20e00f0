import { auditCaller } from "../auth/audit-caller.ts";
import type { Caller } from "../auth/caller.ts";
import { initializeForDevelopment } from "../auth/initialize.ts";
import { currentTime } from "../base/clock.ts";
import type { Failure } from "../base/errors.ts";
import { err, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Operation } from "../policy/acl.ts";
import { type Installation, loadInstallation } from "../system/installation.ts";
import { type AuditLine, auditPath, auditTokenHash, writeAuditLine } from "../wire/audit.ts";
import { failureOfException } from "../wire/exception.ts";
import { toWire } from "../wire/failure.ts";

/** What is asked for, for the audit line. */
export interface Asked {
  readonly operation: Operation;
  readonly path: string;
  readonly clientAddress: string | null;
  /** "" without one. */
  readonly token: string;
}

/** What came of a call, with the caller as far as it is known. */
export interface Answered<T> {
  readonly result: Result<T, Failure>;
  readonly caller: Caller | null;
}

/**
 * Answers a call of another Worker, with one line in the audit log. Whatever goes wrong becomes a failure: a thrown error
 * would leave it to the calling Worker to refuse.
 */
export async function audited<T>(
  env: Env,
  asked: Asked,
  answer: (installation: Installation) => Promise<Answered<T>>,
): Promise<Result<T, Failure>> {
  const id = crypto.randomUUID();
  let answered: Answered<T>;
  let installation: Installation | null = null;
  try {
    const loaded = await load(env);
    if (loaded.ok) installation = loaded.value;
    answered = loaded.ok ? await answer(loaded.value) : { result: loaded, caller: null };
  } catch (error) {
    answered = { result: err(failureOfException(error, id)), caller: null };
  }
  await log(id, asked, answered, installation);
  return answered.result;
}

async function load(env: Env): Promise<Result<Installation, Failure>> {
  const notReady = await initializeForDevelopment(env);
  return notReady ? err(notReady) : loadInstallation(env);
}

async function log(
  id: string,
  asked: Asked,
  { result, caller }: Answered<unknown>,
  installation: Installation | null,
): Promise<void> {
  const wire = result.ok ? { status: 200, errors: [] } : toWire(result.error);
  const [error] = wire.errors;
  const line: AuditLine = {
    type: "rpc",
    time: new Date(currentTime()).toISOString(),
    request_id: id,
    operation: asked.operation,
    path: auditPath(asked.path),
    status: wire.status,
    ...(error !== undefined && { error }),
    client_address: asked.clientAddress,
    ...(caller && auditCaller(caller)),
    ...(installation &&
      asked.token !== "" && { token_hash: await auditTokenHash(installation, asked.token, caller !== null) }),
  };
  writeAuditLine(line);
}
