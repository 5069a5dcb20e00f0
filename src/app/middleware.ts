import { mayInitialize } from "../api/sys/init.ts";
import { AuditRecord } from "../auth/audit-record.ts";
import { openInstallation } from "../auth/initialize.ts";
import { currentTime } from "../base/clock.ts";
import { MAX_RESTORED_BYTES } from "../base/limits.ts";
import { jurisdictionProblem } from "../base/location.ts";
import { err } from "../base/result.ts";
import type { Env } from "../env.ts";
import { countEvent, dataPoint, noteAnswer, noteArrival } from "../metrics/counters.ts";
import { loadRestoring } from "../system/installation.ts";
import { sealKeyOf } from "../system/open-key-ring.ts";
import { VAULT } from "../wire/envelope.ts";
import { type GroveRequest, operationOf, readHead, readTokenHeader } from "../wire/request.ts";
import type { Admission, AppContext, Middleware } from "./context.ts";
import { admit, admitByRole } from "./rate-limit.ts";
import { reportHistory, skipHistory } from "./report-metrics.ts";
import { answerRefusal, UNANSWERED, unservedPathOf } from "./respond.ts";
import { tableOf } from "./route-tables.ts";
import { TABLES } from "./routes.ts";

/**
 * Reads the head of a request and gives it an id. Sweeps on the same thread leave it more time from here on. A client
 * that disconnects does not stop its request: it is completed, and its last audit line is written.
 */
export const arrival: Middleware = async (c, next) => {
  c.env.deployment.pace.requestCame();
  const head = readHead(c.req.raw, c.env);
  c.set("requestId", crypto.randomUUID());
  c.set("head", head);
  c.set("dialect", (head.path.ok && tableOf(TABLES, head.path.value)?.dialect) || VAULT);
  c.set("answer", UNANSWERED);
  c.set("installation", err({ code: "uninitialized" }));
  const completed = next();
  c.executionCtx.waitUntil(completed);
  await completed;
};

/** Opens the audit record of a request, and writes its last line. Endpoints write the first line before they act. */
export const audit: Middleware = async (c, next) => {
  const head = c.get("head");
  const { clientAddress } = head;
  const subject = { operation: operationOf(head), path: "", clientAddress, token: "", data: {}, notes: {} };
  const record = new AuditRecord(c.env, "http", c.get("requestId"), subject);
  c.set("record", record);
  await next();
  if (!record.hasPath) record.learn({ path: unservedPathOf(c) });
  const { result } = c.get("answer");
  // By default only the first refusal of a client under a limit is logged.
  if (!result.ok && result.error.code === "rate_limited" && !result.error.onRecord) return;
  await record.end(c.res.status, result, result.ok ? result.value : null);
};

/** Counts requests and logins, and measures the time until the answer. */
export const metrics: Middleware = async (c, next) => {
  const arrivedAt = currentTime();
  noteArrival();
  await next();
  const { mount = "", route = "", isLogin = false } = c.get("answer").endpoint ?? {};
  const { status } = c.res;
  const kind = { route, mount, operation: operationOf(c.get("head")), status };
  const took = currentTime() - arrivedAt;
  noteAnswer(kind, took);
  const result = status < 300 ? "success" : status < 500 ? "refused" : "failed";
  // Only the name of an existing role is a label. Anyone can log in with other names and so use up the sets of labels.
  const { result: answered } = c.get("answer");
  const isPending = !answered.ok && answered.error.code === "pending";
  if (isLogin && !isPending) {
    countEvent("login", [mount, c.get("record").role, result]);
    countEvent("login_result", [result]);
  }
  c.env.METRICS?.writeDataPoint(dataPoint(kind, took));
  const opened = c.get("installation");
  if (!opened.ok && opened.error.code === "uninitialized") skipHistory();
  const report = opened.ok ? reportHistory(c.env) : null;
  if (report) c.executionCtx.waitUntil(report);
};

/**
 * Converts a thrown value that is not an Error into one. Hono passes only Errors to `onError`: another value would end
 * the request without an answer in our format and without its last audit line.
 */
export const faults: Middleware = async (_, next) => {
  try {
    await next();
  } catch (thrown) {
    throw thrown instanceof Error ? thrown : new Error("what was thrown is not an Error");
  }
};

/** Refuses everything while a required setting is missing or wrong. Otherwise loads the installation. */
export const installation: Middleware = async (c, next) => {
  const sealKey = sealKeyOf(c.env);
  const problem = sealKey.ok ? jurisdictionProblem(c.env) : sealKey.error;
  if (problem) return answerRefusal(c, { code: "sealed", message: problem });
  c.set("installation", await openInstallation(c.env, readTokenHeader(c.req.raw.headers)));
  await next();
};

/** Counts a request under its limit before the body is read, so that a refusal costs little. */
export const limitRequests: Middleware = async (c, next) => {
  const admission = await admit(c);
  c.set("admission", admission);
  if (!admission.refusal) return next();
  await dropRefusedPart(c);
  return withLimits(answerRefusal(c, admission.refusal), admission);
};

/** Counts a login whose limit depends on its role. `data`: null for an unreadable body, which counts as no role. */
async function limitRole(c: AppContext, data: GroveRequest["data"] | null): Promise<Response | null> {
  if (!c.get("admission").byRole) return null;
  const admission = await admitByRole(c, data);
  c.set("admission", admission);
  return admission.refusal && withLimits(answerRefusal(c, admission.refusal), admission);
}

function withLimits(response: Response, { headers }: Admission): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

/** A body that takes longer than this to arrive makes the request load the installation again. */
const SLOW_BODY_MS = 1_000;

/** Reads the request in its dialect: token and fields of body or query. Counts a login whose role has a limit. */
export const request: Middleware = async (c, next) => {
  const began = currentTime();
  const dialect = c.get("dialect");
  const read = await dialect.readRequest(c.req.raw, c.get("head"), await settingsFor(c), c.get("requestId"));
  if (!read.ok) {
    await dropRefusedPart(c);
    return (await limitRole(c, null)) ?? answerRefusal(c, read.error);
  }
  if (currentTime() - began >= SLOW_BODY_MS) {
    c.set("installation", await openInstallation(c.env, read.value.token));
  }
  c.set("request", read.value);
  const { operation, clientAddress, token, data, notes } = read.value;
  c.get("record").learn({ operation, clientAddress, token, data, notes });
  const refused = await limitRole(c, data);
  if (refused) return refused;
  await next();
  if (dialect.namesLimits) withLimits(c.res, c.get("admission"));
};

/** Returns the settings for reading the request. A restore may send larger bodies, if the client may initialize. */
async function settingsFor(c: AppContext): Promise<Env> {
  if (!isBackupPart(c) || c.get("installation").ok) return c.env;
  if (!mayInitialize(c.env, readTokenHeader(c.req.raw.headers))) return c.env;
  if (!(await loadRestoring(c.env)).ok) return c.env;
  return { ...c.env, MAX_BODY_BYTES: String(MAX_RESTORED_BYTES) };
}

function isBackupPart(c: AppContext): boolean {
  const { path } = c.get("head");
  return path.ok && path.value === "sys/restore/part";
}

/**
 * Reads and drops the body of a refused part of a backup. The runtime closes a connection whose body was not read. A
 * gateway that is still sending then may not receive the refusal and answers 502. Other bodies are too short for that.
 */
async function dropRefusedPart(c: AppContext): Promise<void> {
  const { body, bodyUsed } = c.req.raw;
  if (!isBackupPart(c) || body === null || bodyUsed) return;
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  let size = 0;
  try {
    for (let piece = await reader.read(); !piece.done && size <= MAX_RESTORED_BYTES; piece = await reader.read()) {
      size += piece.value.byteLength;
    }
  } catch {
    // The client disconnected: nothing will receive the refusal.
  }
}
