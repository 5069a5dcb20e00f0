import { Hono } from "hono";
import { AuditRecord } from "../auth/audit-record.ts";
import { initializeForDevelopment } from "../auth/initialize.ts";
import type { Failure } from "../base/errors.ts";
import { err } from "../base/result.ts";
import type { Env } from "../env.ts";
import { sealKeyProblem } from "../system/open-ring.ts";
import { unservedPath } from "../wire/audit.ts";
import type { Dialect } from "../wire/dialect.ts";
import { failureOfException } from "../wire/exception.ts";
import { readClientAddress, readPath } from "../wire/request.ts";
import { dialectOf } from "./dialect.ts";
import { type Handled, handle } from "./pipeline.ts";
import { welcomePage } from "./welcome.ts";

/** The HTTP side of the Worker: the same for every route. */
export const app = new Hono<{ Bindings: Env }>();

app.all("*", (context) => {
  const page = welcomePage(context.req.raw, context.env);
  if (page) return page;
  const answered = answer(context.req.raw, context.env);
  // A client that hangs up changes nothing: what was begun is finished, and its last line is written.
  context.executionCtx.waitUntil(answered);
  return answered;
});

/** Answers a request, with its lines in the audit log. Never throws. */
async function answer(raw: Request, env: Env): Promise<Response> {
  const id = crypto.randomUUID();
  const record = recordOf(id, raw, env);
  const dialect = dialectOf(new URL(raw.url));
  let handled = await handleSafely(raw, env, { id, dialect, record });
  let response: Response;
  try {
    response = render(dialect, id, handled);
  } catch (error) {
    handled = { ...handled, result: err(failureOfException(error, id)) };
    response = render(dialect, id, handled);
  }
  const { result, caller } = handled;
  await record.end({ status: response.status, result, caller, reply: result.ok ? result.value : null });
  return response;
}

function render(dialect: Dialect, id: string, { result, warnings }: Handled): Response {
  return result.ok ? dialect.renderReply(id, result.value, warnings) : dialect.renderFailure(result.error);
}

interface Arrived {
  readonly id: string;
  readonly dialect: Dialect;
  readonly record: AuditRecord;
}

async function handleSafely(raw: Request, env: Env, arrived: Arrived): Promise<Handled> {
  try {
    return await readAndHandle(raw, env, arrived);
  } catch (error) {
    return unhandled(failureOfException(error, arrived.id));
  }
}

async function readAndHandle(raw: Request, env: Env, { id, dialect, record }: Arrived): Promise<Handled> {
  const problem = sealKeyProblem(env);
  if (problem) return unhandled({ code: "sealed", message: problem });
  const read = await dialect.readRequest(raw, env, id);
  if (!read.ok) return unhandled(read.error);
  const { operation, path, clientAddress, token, data, notes } = read.value;
  record.learn({ operation, path: unservedPath(path), clientAddress, token, data, notes });
  const notReady = await initializeForDevelopment(env);
  return notReady ? unhandled(notReady) : handle(env, read.value, record);
}

function unhandled(failure: Failure): Handled {
  return { result: err(failure), warnings: [], caller: null, loggedPath: "" };
}

/** The record of a request of which only the head is known. */
function recordOf(id: string, raw: Request, env: Env): AuditRecord {
  const path = readPath(new URL(raw.url));
  return new AuditRecord("http", id, {
    operation: "unknown",
    // One that can't be decoded could hold a token in a spelling that nothing here knows.
    path: path.ok ? unservedPath(path.value) : "<malformed>",
    clientAddress: readClientAddress(raw.headers, env),
    token: "",
    data: {},
    notes: {},
  });
}
