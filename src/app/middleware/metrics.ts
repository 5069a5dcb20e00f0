import { currentTime } from "../../base/clock.ts";
import { countEvent } from "../../metrics/events.ts";
import { dataPoint, noteAnswer, noteArrival } from "../../metrics/request-figures.ts";
import { operationOf } from "../../wire/request.ts";
import type { Middleware } from "../context.ts";

/** Counts requests, logins and how long answers take. */
export const metrics: Middleware = async (c, next) => {
  const arrivedAt = currentTime();
  noteArrival();
  await next();
  const { mount = "", route = "", isLogin = false } = c.get("answer").endpoint ?? {};
  const { status } = c.res;
  const kind = { route, mount, operation: operationOf(c.get("head")), status };
  const took = currentTime() - arrivedAt;
  noteAnswer(kind, took);
  // A name that no role has is no label: callers without a token choose it, and could use up the sets of labels.
  if (isLogin) countEvent("login", [mount, c.get("record").role, loginResult(status)]);
  c.env.METRICS?.writeDataPoint(dataPoint(kind, took));
};

/** Whether a login gave a token, was refused, or could not be decided. */
function loginResult(status: number): string {
  if (status < 300) return "success";
  return status < 500 ? "refused" : "failed";
}
