import { Hono } from "hono";
import { AuditRecord } from "../auth/audit-record.ts";
import { initializeForDevelopment } from "../auth/initialize.ts";
import { currentTime } from "../base/clock.ts";
import type { Failure } from "../base/errors.ts";
import { jurisdictionProblem } from "../base/location.ts";
import { err } from "../base/result.ts";
import type { Env } from "../env.ts";
import { countEvent } from "../metrics/events.ts";
import { dataPoint, noteAnswer, noteArrival } from "../metrics/request-figures.ts";
import type { Operation } from "../policy/acl.ts";
import { sealKeyProblem } from "../system/open-ring.ts";
import { isOneProcess } from "../tree/live-tokens.ts";
import { unservedPath } from "../wire/audit.ts";
import type { Dialect } from "../wire/dialect.ts";
import { failureOfException } from "../wire/exception.ts";
import { EXCHANGE_HEADER, NOT_BEGUN_STATUS, readExchange } from "../wire/exchange.ts";
import { type RequestHead, readHead } from "../wire/request.ts";
import { BegunExchanges } from "./begun-exchanges.ts";
import { consoleAnswer } from "./console.ts";
import { dialectOf } from "./dialect.ts";
import { type Handled, handle } from "./pipeline.ts";
import { ADMITTED, admit, admitByRole } from "./rate-limit.ts";

/**
 * The HTTP side of the Worker: the same for every route. Its one handler is for every path, so the router need not know which
 * it is.
 */
export const app = new Hono<{ Bindings: Env }>({ getPath: () => "/" });

app.all("*", (context) => {
  const { raw } = context.req;
  if (isOneProcess(context.env) && !mayBegin(raw.headers)) return new Response(null, { status: NOT_BEGUN_STATUS });
  const head = readHead(raw, context.env);
  const page = consoleAnswer(raw, head.pathname);
  if (page) return page;
  const answered = answer(raw, context.env, head);
  // A client that disconnects does not stop its request: it is completed, and its last line is written.
  context.executionCtx.waitUntil(answered);
  return answered;
});

/** Of all gateways: where one process serves, all requests come to one isolate. */
const BEGUN = new BegunExchanges();

/** False for a request of the gateway that may have been begun already. Others say nothing of an exchange. */
function mayBegin(headers: Headers): boolean {
  const text = headers.get(EXCHANGE_HEADER);
  if (text === null) return true;
  const exchange = readExchange(text);
  return exchange !== null && BEGUN.begin(exchange);
}

/** Answers a request, with its lines in the audit log. Never throws. */
async function answer(raw: Request, env: Env, head: RequestHead): Promise<Response> {
  const arrivedAt = currentTime();
  noteArrival();
  const id = crypto.randomUUID();
  const record = recordOf(id, head);
  const dialect = dialectOf(head);
  let handled = await handleSafely(raw, env, { id, head, dialect, record });
  let response: Response;
  try {
    response = render(dialect, id, handled);
  } catch (error) {
    handled = { ...handled, result: err(failureOfException(error, id)) };
    response = render(dialect, id, handled);
  }
  const { result, caller, endpoint } = handled;
  const { mount = "", route = "", isLogin = false } = endpoint ?? {};
  const kind = { route, mount, operation: operationOf(head), status: response.status };
  const took = currentTime() - arrivedAt;
  noteAnswer(kind, took);
  if (isLogin) countEvent("login", [mount, record.role, loginResult(response.status)]);
  env.METRICS?.writeDataPoint(dataPoint(kind, took));
  if (isOnRecord(result)) {
    await record.end({ status: response.status, result, caller, reply: result.ok ? result.value : null });
  }
  return response;
}

/** Whether a login gave a token, was refused, or could not be decided. */
function loginResult(status: number): string {
  if (status < 300) return "success";
  return status < 500 ? "refused" : "failed";
}

/** A client that sends too much is on record once for each time that it is shut out, unless the quotas say otherwise. */
function isOnRecord(result: Handled["result"]): boolean {
  return result.ok || result.error.code !== "rate_limited" || result.error.onRecord;
}

function render(dialect: Dialect, id: string, { result, warnings, headers = {} }: Handled): Response {
  const response = result.ok ? dialect.renderReply(id, result.value, warnings) : dialect.renderFailure(result.error);
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  // Whoever asks an operator about a failure can name its line in the audit log.
  if (!result.ok) response.headers.set("X-Request-Id", id);
  return response;
}

interface Arrived {
  readonly id: string;
  readonly head: RequestHead;
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

async function readAndHandle(raw: Request, env: Env, { id, head, dialect, record }: Arrived): Promise<Handled> {
  const problem = sealKeyProblem(env) ?? jurisdictionProblem(env);
  if (problem) return unhandled({ code: "sealed", message: problem });
  const { path: asked, clientAddress: from } = head;
  const counted = asked.ok && { operation: operationOf(head), path: asked.value, clientAddress: from };
  const onArrival = counted ? await admit(env, counted) : ADMITTED;
  if (onArrival.refusal) return { ...unhandled(onArrival.refusal), headers: onArrival.headers };
  const read = await dialect.readRequest(raw, head, env, id);
  if (!read.ok) return unhandled(read.error);
  const { operation, path, clientAddress, token, data, notes } = read.value;
  record.learn({ operation, path: unservedPath(path), clientAddress, token, data, notes });
  const { refusal, headers } = onArrival.byRole ? await admitByRole(env, read.value, data.role) : onArrival;
  if (refusal) return { ...unhandled(refusal), headers };
  const notReady = await initializeForDevelopment(env);
  if (notReady) return unhandled(notReady);
  const handled = await handle(env, read.value, record);
  // Clients of the interface of teams slow themselves down for good when they are told a limit.
  return read.value.dialect === "json-api" ? handled : { ...handled, headers };
}

function operationOf({ operation }: RequestHead): Operation | "unknown" {
  return operation.ok ? operation.value : "unknown";
}

function unhandled(failure: Failure): Handled {
  return { result: err(failure), warnings: [], caller: null, loggedPath: "" };
}

/** The record of a request of which only the head is known. */
function recordOf(id: string, head: RequestHead): AuditRecord {
  const { path, clientAddress } = head;
  return new AuditRecord("http", id, {
    operation: operationOf(head),
    // One that can't be decoded could hold a token in a spelling that nothing here knows.
    path: path.ok ? unservedPath(path.value) : "<malformed>",
    clientAddress,
    token: "",
    data: {},
    notes: {},
  });
}
