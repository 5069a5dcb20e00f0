import { reportHistory, skipHistory } from "../api/sys/health/report-history.ts";
import { AuditRecord } from "../auth/audit-record.ts";
import { openInstallation } from "../auth/open-installation.ts";
import { currentTime } from "../base/clock.ts";
import { jurisdictionProblem } from "../base/location.ts";
import { err } from "../base/result.ts";
import { countEvent, dataPoint, noteAnswer, noteArrival } from "../metrics/counters.ts";
import { sealKeyOf } from "../system/open-key-ring.ts";
import { VAULT } from "../wire/envelope.ts";
import { operationOf, readHead, readTokenHeader } from "../wire/request.ts";
import type { Middleware } from "./context.ts";
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
