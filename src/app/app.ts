import { Hono } from "hono";
import { auditCaller } from "../auth/audit-caller.ts";
import { initializeForDevelopment } from "../auth/initialize.ts";
import { currentTime } from "../base/clock.ts";
import type { Failure } from "../base/errors.ts";
import type { Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { sealKeyProblem } from "../system/open-ring.ts";
import { type AuditLine, auditPath, auditTokenHash, unservedPath, writeAuditLine } from "../wire/audit.ts";
import { failureOfException } from "../wire/exception.ts";
import { toWire } from "../wire/failure.ts";
import { type GroveRequest, readPath } from "../wire/request.ts";
import { dialectOf } from "./dialect.ts";
import { type Handled, handle } from "./pipeline.ts";
import { welcomePage } from "./welcome.ts";

/** The HTTP side of the Worker: the same for every route. */
export const app = new Hono<{ Bindings: Env }>();

app.all("*", async (context) => {
  const { env } = context;
  const page = welcomePage(context.req.raw, env);
  if (page) return page;
  const id = crypto.randomUUID();
  const { readRequest, renderFailure, renderReply } = dialectOf(new URL(context.req.url));
  const problem = sealKeyProblem(env);
  if (problem) return renderFailure({ code: "sealed", message: problem });
  const request = await readRequest(context.req.raw, env, id);
  if (!request.ok) {
    logUnread(id, context.req.raw, request.error, env);
    return renderFailure(request.error);
  }
  const notReady = await initializeForDevelopment(env);
  if (notReady) return renderFailure(notReady);
  const handled = await handleSafely(env, request.value);
  const { result } = handled;
  const response = result.ok ? renderReply(id, result.value, handled.warnings) : renderFailure(result.error);
  await logRequest(request.value, handled, response.status);
  return response;
});

// What is thrown before a request is read, or after it was handled.
app.onError((error, context) => dialectOf(new URL(context.req.url)).renderFailure(failureOfException(error, "")));

async function handleSafely(env: Env, request: GroveRequest): Promise<Handled> {
  try {
    return await handle(env, request);
  } catch (error) {
    return {
      result: { ok: false, error: failureOfException(error, request.id) },
      warnings: [],
      caller: null,
      installation: null,
      loggedPath: unservedPath(request.path),
    };
  }
}

async function logRequest(request: GroveRequest, handled: Handled, status: number): Promise<void> {
  const { caller, installation, result } = handled;
  const error = firstError(result);
  const line: AuditLine = {
    type: "request",
    time: new Date(currentTime()).toISOString(),
    request_id: request.id,
    operation: request.operation,
    path: auditPath(handled.loggedPath),
    status,
    ...(error !== undefined && { error }),
    client_address: request.clientAddress,
    ...(caller && auditCaller(caller)),
    ...(installation &&
      request.token !== "" && { token_hash: await auditTokenHash(installation, request.token, caller !== null) }),
  };
  writeAuditLine(line);
}

function logUnread(id: string, request: Request, failure: Failure, env: Env): void {
  const path = readPath(new URL(request.url));
  const error = firstError({ ok: false, error: failure });
  writeAuditLine({
    type: "request",
    time: new Date(currentTime()).toISOString(),
    request_id: id,
    operation: "unknown",
    // One that can't be decoded could hold a token in a spelling that nothing here knows.
    path: path.ok ? auditPath(unservedPath(path.value)) : "<malformed>",
    status: toWire(failure).status,
    ...(error !== undefined && { error }),
    client_address: request.headers.get(env.CLIENT_ADDRESS_HEADER ?? "CF-Connecting-IP"),
  });
}

/** The error text for the log. Texts hold nothing that the client sent but, in this one, the path. */
function firstError(result: Result<unknown, Failure>): string | undefined {
  if (result.ok) return undefined;
  return result.error.code === "no_route" ? "no handler for route" : toWire(result.error).errors[0];
}
