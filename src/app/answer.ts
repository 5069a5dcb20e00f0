import { err, type Failure } from "../base/result.ts";
import type { Answer, AppContext, Endpoint } from "./context.ts";
import type { FoundRoute } from "./places.ts";

/** The answer as long as there is none. */
export const UNANSWERED: Answer = { result: err({ code: "internal" }), warnings: [], endpoint: null };

/** Responds in the dialect of the request, and keeps the answer for the audit line and the metrics. */
export function respond(c: AppContext, answer: Answer): Response {
  c.set("answer", answer);
  const { result, warnings } = answer;
  const dialect = c.get("dialect");
  const requestId = c.get("requestId");
  if (result.ok) return dialect.renderReply(requestId, result.value, warnings);
  const response = dialect.renderFailure(result.error);
  // A client that asks an operator about a failure can name its line in the audit log.
  response.headers.set("X-Request-Id", requestId);
  return response;
}

/** Refuses a request before an endpoint was found for it. */
export function refuse(c: AppContext, failure: Failure): Response {
  return respond(c, { ...UNANSWERED, result: err(failure) });
}

/** The names of an endpoint for metrics. */
export function endpointOf({ route, pattern }: FoundRoute): Endpoint {
  const full = pattern.includes("{") ? pattern.replace(/\{[^/]*\}/g, "") : pattern;
  const mount = pattern.slice(0, pattern.length - route.path.length) || `${full.split("/", 1)[0]}/`;
  return { route: full, mount, isLogin: route.access === "login" };
}
