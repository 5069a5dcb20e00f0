import { type Caller, readToken } from "../auth/caller.ts";
import { judge } from "../auth/judge.ts";
import type { CallContext, LoginRoute, PreparedContext, PresentedContext, Route, TokenRoute } from "../auth/route.ts";
import { wrapAnswer } from "../auth/wrap.ts";
import { DENIED, type Failure, UNAUTHENTICATED } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { policiesOfEntity } from "../identity/standing.ts";
import type { AccessRequest } from "../policy/acl.ts";
import { type Installation, loadInstallation } from "../system/installation.ts";
import { unservedPath } from "../wire/audit.ts";
import { answerToWrap } from "../wire/envelope.ts";
import type { ReadFields } from "../wire/fields.ts";
import type { Reply } from "../wire/reply.ts";
import { type GroveRequest, isListing } from "../wire/request.ts";
import { type ResolvedRoute, resolveOpenRoute, resolveRoute } from "./routes.ts";

/** What became of a request: the answer, and what the audit line says about it. */
export interface Handled {
  readonly result: Result<Reply, Failure>;
  readonly warnings: readonly string[];
  readonly caller: Caller | null;
  readonly installation: Installation | null;
  /** The path without a token in it. */
  readonly loggedPath: string;
}

type AnyRoute = TokenRoute<never, never>;
type AnyContext = PreparedContext<never, never>;
type AnyCall = CallContext<never, never>;

/** Answers a request, wrapped when the client asks for that. */
export async function handle(env: Env, request: GroveRequest): Promise<Handled> {
  const handled = await withIdentityPolicies(env, await handlePlainly(env, request));
  return request.wrapTtlSeconds > 0 && mayBeWrapped(handled) ? wrap(env, request, handled) : handled;
}

/**
 * Wrapping stores something, for as long as the client says; so it is for callers with a token and for logins. What
 * anybody may ask without a token holds nothing secret, and is answered as it is.
 */
function mayBeWrapped({ caller, result }: Handled): boolean {
  return caller !== null || (result.ok && result.value.kind === "auth");
}

/** An answer that hands out or renews a token also tells the policies of its entity. */
async function withIdentityPolicies(env: Env, handled: Handled): Promise<Handled> {
  const { result } = handled;
  if (!result.ok || result.value.kind !== "auth") return handled;
  const { auth } = result.value;
  const identityPolicies = await policiesOfEntity(env, auth.entityId);
  return { ...handled, result: ok({ ...result.value, auth: { ...auth, identityPolicies } }) };
}

/** Puts a successful answer away and answers with the token for it. Failures and answers without a body stay as they are. */
async function wrap(env: Env, request: GroveRequest, handled: Handled): Promise<Handled> {
  const { result, warnings } = handled;
  const answer = result.ok ? answerToWrap(request.id, result.value, warnings) : null;
  if (!answer) return handled;
  const loaded = await loadInstallation(env);
  if (!loaded.ok) return { ...handled, result: loaded };
  const wrapped = await wrapAnswer(env, loaded.value, answer, request.wrapTtlSeconds, handled.loggedPath);
  return { ...handled, warnings: [], result: wrapped.ok ? ok({ kind: "wrapped", wrapInfo: wrapped.value }) : wrapped };
}

/**
 * The way of a request: find the route, read the token, let the caller's tree authenticate, authorise and act in one hop,
 * then let the handler answer. An unknown path or a malformed field is only told to callers whose policies reach it.
 */
async function handlePlainly(env: Env, request: GroveRequest): Promise<Handled> {
  const open = resolveOpenRoute(request);
  if (open) {
    const context = { env, request, params: open.params, mountPath: request.path };
    return { ...unjudged(request.path), result: await open.route.handle(context) };
  }
  const loaded = await loadInstallation(env);
  if (!loaded.ok) return { ...unjudged(request.path), result: loaded };
  const installation = loaded.value;
  const found = resolveRoute(installation, request);
  if (found.ok && found.value.route.access === "login") {
    return logIn(env, request, installation, found.value, found.value.route);
  }
  const resolved = tokenRouteOf(found);
  const loggedPath = pathForLog(request, resolved);
  const route = resolved.ok ? resolved.value.route : null;
  const unanswered = { ...unjudged(loggedPath), installation };
  const refuse = (failure: Failure): Handled => ({ ...unanswered, result: err(refusalOf(failure, request, route)) });
  const presented = request.token === "" ? null : await readToken(env, installation, request.token);
  if (!presented) return refuse(UNAUTHENTICATED);

  const fields = route?.fields(request.data);
  const context: PresentedContext<never> = {
    env,
    request,
    params: resolved.ok ? resolved.value.params : {},
    mountPath: resolved.ok ? resolved.value.mountPath : request.path,
    installation,
    presented,
    fields: (fields?.ok ? fields.value.values : undefined) as never,
  };
  // Input is read before the hop, so that the action can travel with it; what is wrong with it is told afterwards.
  const prepared = route && fields?.ok ? await route.prepare(context) : null;
  const ready: AnyContext | null = prepared?.ok ? { ...context, prepared: prepared.value } : null;
  const demand = {
    presented,
    access: accessOf(request, route, context.mountPath),
    clientAddress: request.clientAddress,
  };
  const nextAction = async () => (route?.action && ready ? route.action(ready) : null);
  const judged = await judge(env, installation, demand, nextAction);
  if (!judged.ok) return refuse(judged.error);
  const done = { ...unanswered, caller: judged.value.caller };
  if (!resolved.ok) return { ...done, result: resolved };
  if (fields && !fields.ok) return { ...done, result: fields };
  if (prepared && !prepared.ok) return { ...done, result: prepared };
  if (!route || !ready) throw new Error("a resolved route has its context");
  const result = emptyListAsNotFound(request, await route.handle(withPageLimit({ ...ready, ...judged.value })));
  return { ...done, result, warnings: fields ? fieldWarnings(fields.value, ready.params) : [] };
}

/** Answers a login: whoever logs in has no token yet, so nobody's policies are asked. */
async function logIn(
  env: Env,
  request: GroveRequest,
  installation: Installation,
  { params, mountPath }: Pick<ResolvedRoute<Route>, "mountPath" | "params">,
  route: LoginRoute<never>,
): Promise<Handled> {
  const unanswered = { ...unjudged(request.path), installation };
  const fields = route.fields(request.data);
  if (!fields.ok) return { ...unanswered, result: fields };
  const context = { env, request, params, mountPath, installation, fields: fields.value.values };
  const result = await route.handle(context);
  return { ...unanswered, result, warnings: fieldWarnings(fields.value, params) };
}

function tokenRouteOf(found: ReturnType<typeof resolveRoute>): Result<ResolvedRoute<AnyRoute>, Failure> {
  if (!found.ok) return found;
  const { route } = found.value;
  return route.access === "token" ? ok({ ...found.value, route }) : err({ code: "unsupported_path" });
}

/** What a caller without rights is told: some routes have a word of their own for it. */
function refusalOf(failure: Failure, request: GroveRequest, route: AnyRoute | null): Failure {
  const refused = failure.code === DENIED.code || failure.code === UNAUTHENTICATED.code;
  return (refused && route?.refusal?.(request)) || failure;
}

function accessOf(request: GroveRequest, route: AnyRoute | null, mountPath: string): AccessRequest {
  const mount = request.path.slice(0, request.path.length - mountPath.length);
  const path = mount + (route?.spelling?.(mountPath) ?? mountPath);
  return {
    operation: request.operation === "update" && route?.createsOrUpdates ? "create_or_update" : request.operation,
    path: isListing(request.operation) ? `${path}/` : path,
    data: request.data,
    ...(request.wrapTtlSeconds > 0 && { wrapTtlSeconds: request.wrapTtlSeconds }),
  };
}

/** Paths that hold a token are logged by their pattern. */
function pathForLog(request: GroveRequest, resolved: Result<ResolvedRoute<AnyRoute>, Failure>): string {
  if (resolved.ok) return resolved.value.route.secretPath ? resolved.value.pattern : request.path;
  return unservedPath(request.path);
}

/** A page has the size that the policies allow, whatever the client asks for. Done here, so that no list can forget it. */
function withPageLimit(context: AnyCall): AnyCall {
  const { limit } = context.verdict;
  if (limit === null) return context;
  return { ...context, fields: { ...(context.fields as object), limit } as never };
}

/** A list without names does not exist for clients. */
function emptyListAsNotFound(request: GroveRequest, result: Result<Reply, Failure>): Result<Reply, Failure> {
  if (!isListing(request.operation)) return result;
  const keys = result.ok && result.value.kind === "data" ? result.value.data?.keys : undefined;
  return Array.isArray(keys) && keys.length === 0 ? err({ code: "not_found" }) : result;
}

/** What the caller should know about fields that had no effect: unknown ones, and those that the path gives as well. */
function fieldWarnings({ unknown, known }: ReadFields<unknown>, params: Readonly<Record<string, string>>): string[] {
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

function unjudged(loggedPath: string): Omit<Handled, "result"> {
  return { warnings: [], caller: null, installation: null, loggedPath };
}
