import { policyWarnings } from "../auth/policy-warning.ts";
import { wrapAnswer } from "../auth/wrap.ts";
import { err, type Failure, ok } from "../base/result.ts";
import { policiesOfEntity } from "../identity/standing.ts";
import { answerToWrap } from "../wire/envelope.ts";
import type { SentNames } from "../wire/read-fields.ts";
import type { Reply } from "../wire/reply.ts";
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

/**
 * Responds with the answer to a login or to a caller with a token, wrapped when the client asks for that. Wrapping stores
 * something, for as long as the client says; what needs no token holds nothing secret, and is answered as it is.
 *
 * @param loggedPath the path of the request without a token in it.
 */
export async function complete(c: AppContext, answer: Answer, loggedPath: string): Promise<Response> {
  const { result } = answer;
  const whole =
    result.ok && result.value.kind === "auth" ? await withIdentityPolicies(c, answer, result.value) : answer;
  const wraps = c.get("request").wrapTtlSeconds > 0;
  return respond(c, wraps ? await wrapped(c, whole, loggedPath) : whole);
}

/** An answer that hands out or renews a token also states the policies of its entity. That of a login warns when there are none to speak of. */
async function withIdentityPolicies(
  c: AppContext,
  answer: Answer,
  reply: Extract<Reply, { kind: "auth" }>,
): Promise<Answer> {
  const { auth } = reply;
  const installation = c.get("installation");
  const identityPolicies = await policiesOfEntity(c.env, auth.entityId);
  const warned = answer.endpoint?.isLogin && installation.ok;
  const policies = [...auth.tokenPolicies, ...identityPolicies];
  const warnings = warned ? [...answer.warnings, ...policyWarnings(installation.value, policies)] : answer.warnings;
  return { ...answer, warnings, result: ok({ ...reply, auth: { ...auth, identityPolicies } }) };
}

/**
 * Stores a successful answer and answers with its wrapping token. Failures and answers without a body stay as they are.
 */
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
  return { ...answer, warnings: [], result: ok({ kind: "wrapped", wrapInfo: wrapping.value, ...inside }) };
}

/** Warns about fields that had no effect: unknown ones, and those that the path gives as well. */
export function fieldWarnings(
  { unknown, known }: SentNames,
  params: Readonly<Record<string, string>>,
): readonly string[] {
  const replaced = known.filter((name) => Object.hasOwn(params, name));
  return [
    ...(unknown.length > 0 ? [`Endpoint ignored these unrecognized parameters: [${unknown.join(" ")}]`] : []),
    ...(replaced.length > 0
      ? [
          `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${replaced.join(" ")}]`,
        ]
      : []),
  ];
}
