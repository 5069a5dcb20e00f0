import { policyWarnings } from "../auth/login-attempt.ts";
import { wrapAnswer } from "../auth/wrapped-answer.ts";
import { err, type Failure, ok } from "../base/result.ts";
import { policiesOfEntity } from "../identity/entity-copies.ts";
import { cappedTtl } from "../token/rules/ttl.ts";
import { unservedPath } from "../wire/audit-masking.ts";
import { answerToWrap } from "../wire/envelope.ts";
import type { SentNames } from "../wire/field-schema.ts";
import type { Reply } from "../wire/reply.ts";
import type { Answer, AppContext, Endpoint } from "./context.ts";
import type { FoundRoute } from "./route-tables.ts";

/** The answer before an endpoint has made one. */
export const UNANSWERED: Answer = { result: err({ code: "internal" }), warnings: [], endpoint: null };

/** Responds in the dialect of the request, and stores the answer for the audit line and the metrics. */
export function respond(c: AppContext, answer: Answer): Response {
  c.set("answer", answer);
  const { result, warnings } = answer;
  const dialect = c.get("dialect");
  const requestId = c.get("requestId");
  const response = result.ok
    ? dialect.renderReply(requestId, result.value, warnings)
    : dialect.renderFailure(result.error);
  // With this id an operator finds the lines of the request in the log, and its record in the audit store.
  response.headers.set("X-Request-Id", requestId);
  return response;
}

/** Refuses a request. @param endpoint null when none was found. */
export function answerRefusal(c: AppContext, failure: Failure, endpoint: Endpoint | null = null): Response {
  return respond(c, { ...UNANSWERED, result: err(failure), endpoint });
}

/** Returns the labels of an endpoint in metrics. */
export function endpointOf({ route, pattern }: FoundRoute): Endpoint {
  const full = pattern.includes("{") ? pattern.replace(/\{[^/]*\}/g, "") : pattern;
  const mount = pattern.slice(0, pattern.length - route.path.length) || `${full.split("/", 1)[0]}/`;
  return { route: full, mount, isLogin: route.access === "login" && !route.isStep };
}

/** Returns the path of a request without an endpoint, as the audit log may show it. */
export function unservedPathOf(c: AppContext): string {
  const { path } = c.get("head");
  // A path that can't be decoded can contain a token in a form that is not recognised.
  if (!path.ok) return "<malformed>";
  const loaded = c.get("installation");
  const mount = loaded.ok ? loaded.value.mountServing(path.value) : undefined;
  return unservedPath(path.value, mount && `auth/${mount.path}`);
}

/**
 * Responds to a login or to a caller with a token. Wraps the answer if the client asks for that. Answers of open
 * endpoints, and of steps of logins that give no token, are never wrapped: wrapping stores a value. `loggedPath` has no
 * token in it.
 */
export async function complete(c: AppContext, answer: Answer, loggedPath: string): Promise<Response> {
  const { result } = answer;
  const whole =
    result.ok && result.value.kind === "auth" ? await withIdentityPolicies(c, answer, result.value) : answer;
  return respond(c, c.get("request").wrapTtlSeconds > 0 ? await wrapped(c, whole, loggedPath) : whole);
}

/** Adds the policies of the entity to an answer with a token. Adds a warning to a login without existing policies. */
async function withIdentityPolicies(c: AppContext, answer: Answer, reply: Extract<Reply, { kind: "auth" }>) {
  const { auth } = reply;
  const installation = c.get("installation");
  const identityPolicies = await policiesOfEntity(c.env, auth.entityId);
  const warned = answer.endpoint?.isLogin && installation.ok;
  const policies = [...auth.tokenPolicies, ...identityPolicies];
  const warnings = warned ? [...answer.warnings, ...policyWarnings(installation.value, policies)] : answer.warnings;
  return { ...answer, warnings, result: ok({ ...reply, auth: { ...auth, identityPolicies } }) };
}

/** Stores a successful answer and returns its wrapping token. Failures and answers without a body are not wrapped. */
async function wrapped(c: AppContext, answer: Answer, loggedPath: string): Promise<Answer> {
  const { id, wrapTtlSeconds } = c.get("request");
  if (!answer.result.ok) return answer;
  const reply = answer.result.value;
  const stored = answerToWrap(id, reply, answer.warnings);
  if (!stored) return answer;
  const loaded = c.get("installation");
  if (!loaded.ok) return { ...answer, result: loaded };
  const wrapping = await wrapAnswer(c.env, loaded.value, stored, wrapTtlSeconds, loggedPath);
  if (!wrapping.ok) return { ...answer, warnings: [], result: wrapping };
  const inside = reply.kind === "auth" && { auth: reply.auth };
  const { ttl } = wrapping.value;
  const warnings = ttl < wrapTtlSeconds ? [cappedTtl(wrapTtlSeconds, ttl)] : [];
  return { ...answer, warnings, result: ok({ kind: "wrapped", wrapInfo: wrapping.value, ...inside }) };
}

/** Returns warnings about fields without effect: unknown fields, and fields that the path already sets. */
export function fieldWarnings({ unknown, known }: SentNames, params: Readonly<Record<string, string>>): string[] {
  const warnings: string[] = [];
  if (unknown.length > 0) warnings.push(`Endpoint ignored these unrecognized parameters: [${unknown.join(" ")}]`);
  const replaced = known.filter((name) => Object.hasOwn(params, name));
  if (replaced.length > 0) {
    warnings.push(
      `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${replaced.join(" ")}]`,
    );
  }
  return warnings;
}
