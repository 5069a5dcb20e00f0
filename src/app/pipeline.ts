import type { AuditRecord } from "../auth/audit-record.ts";
import { authorizeCall } from "../auth/authorize-call.ts";
import { type Caller, readToken } from "../auth/caller.ts";
import type { LoginRoute, ReadyContext, Route, TokenRoute } from "../auth/route.ts";
import { wrapAnswer } from "../auth/wrap.ts";
import { DENIED, type Failure, UNAUTHENTICATED } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { groveVersion } from "../base/version.ts";
import type { Env } from "../env.ts";
import { policiesOfEntity } from "../identity/standing.ts";
import { AUTH_METHODS } from "../methods/registry.ts";
import type { AccessRequest, Operation } from "../policy/acl.ts";
import { type Installation, loadInstallation } from "../system/installation.ts";
import { unservedPath } from "../wire/audit.ts";
import { answerToWrap } from "../wire/envelope.ts";
import type { SentNames } from "../wire/fields.ts";
import { plainReply, type Reply } from "../wire/reply.ts";
import { type GroveRequest, isListing } from "../wire/request.ts";
import { type ResolvedRoute, resolveHelp, resolveOpenRoute, resolveRoute } from "./routes.ts";

/** The result of a request: the answer, and the data for its audit line. */
export interface Handled {
  readonly result: Result<Reply, Failure>;
  readonly warnings: readonly string[];
  readonly caller: Caller | null;
  /** The path without a token in it. */
  readonly loggedPath: string;
  /** The endpoint, where one serves the request. */
  readonly endpoint?: Endpoint;
  /** Headers that the answer has besides. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An endpoint as metrics name it: nothing in it comes from the client. */
export interface Endpoint {
  /** Full path with the names of its parameters. */
  readonly route: string;
  /** Path of its mount, with a slash at the end. */
  readonly mount: string;
  readonly isLogin: boolean;
}

function endpointOf({ route, pattern }: ResolvedRoute<Route>): Endpoint {
  const full = pattern.includes("{") ? pattern.replace(/\{[^/]*\}/g, "") : pattern;
  const mount = pattern.slice(0, pattern.length - route.path.length) || `${full.split("/", 1)[0]}/`;
  return { route: full, mount, isLogin: route.access === "login" };
}

const READS: ReadonlySet<Operation> = new Set(["read", "list", "scan", "help", "head"]);

/** Answers a request, wrapped when the client asks for that. */
export async function handle(env: Env, request: GroveRequest, record: AuditRecord): Promise<Handled> {
  const handled = await withIdentityPolicies(env, await handleUnwrapped(env, request, record));
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

/**
 * Wraps a successful answer: stores it and answers with the wrapping token. Failures and answers without a body stay as
 * they are.
 */
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
async function handleUnwrapped(env: Env, request: GroveRequest, record: AuditRecord): Promise<Handled> {
  const open = resolveOpenRoute(env, request);
  if (open) {
    const context = { env, request, params: open.params, mountPath: request.path };
    record.learn({ path: request.path });
    if (mayAct(request)) await record.begin();
    return { ...unauthenticated(request.path), endpoint: endpointOf(open), result: await open.route.handle(context) };
  }
  const loaded = await loadInstallation(env);
  if (!loaded.ok) return { ...unauthenticated(request.path), result: loaded };
  const installation = loaded.value;
  const found = resolveRoute(installation, request);
  const context = { env, request, installation, methods: AUTH_METHODS };
  if (found.ok && found.value.route.access === "login") {
    record.learn({ path: request.path }, installation);
    await record.begin();
    return { ...(await logIn(context, found.value, found.value.route)), endpoint: endpointOf(found.value) };
  }
  const resolved = tokenRouteOf(found);
  const loggedPath = pathForLog(request, resolved);
  const route = resolved.ok ? resolved.value.route : null;
  const unanswered = {
    ...unauthenticated(loggedPath),
    ...(resolved.ok && { endpoint: endpointOf(resolved.value) }),
  };
  record.learn({ path: loggedPath }, installation);
  const refuse = (failure: Failure): Handled => ({ ...unanswered, result: err(refusalOf(failure, request, route)) });
  const presented = request.token === "" ? null : await readToken(env, installation, request.token);
  if (!presented) return refuse(UNAUTHENTICATED);
  if (mayAct(request)) await record.begin();

  // Input is read before the hop, so that the action can travel with it; what is wrong with it is told afterwards.
  const opened = resolved.ok
    ? await resolved.value.route.open({ ...context, ...placeOf(resolved.value), presented }, request.data)
    : resolved;
  const mountPath = resolved.ok ? resolved.value.mountPath : request.path;
  const alternatePath = (await route?.alternatePath?.(context, request.path)) ?? null;
  const access = { ...accessOf(request, route, mountPath), ...(alternatePath !== null && { alternatePath }) };
  const call = { presented, access, clientAddress: request.clientAddress };
  const nextAction = async () => (opened.ok ? opened.value.action() : null);
  const authorized = await authorizeCall(env, installation, call, nextAction);
  if (!authorized.ok) return { ...refuse(authorized.error.failure), caller: authorized.error.caller };
  const done = { ...unanswered, caller: authorized.value.caller };
  if (request.operation === "help") return { ...done, result: help(env, installation, request) };
  if (!opened.ok) return { ...done, result: opened };
  const result = emptyListAsNotFound(request, await opened.value.handle(authorized.value));
  return { ...done, result, warnings: fieldWarnings(opened.value.sent, resolved.ok ? resolved.value.params : {}) };
}

/** What is at a path. Told to every caller: it holds nothing of the installation but the types of its mounts. */
function help(env: Env, installation: Installation, request: GroveRequest): Result<Reply, Failure> {
  if (request.dialect === "json-api") return err({ code: "unsupported_operation" });
  const found = resolveHelp(installation, request, groveVersion(env));
  if (!found.ok) return found;
  const { text, openapi } = found.value;
  return ok(plainReply({ help: text, see_also: null, openapi }));
}

/** Answers a login: whoever logs in has no token yet, so nobody's policies are asked. */
async function logIn(
  context: Omit<ReadyContext, "mountPath" | "params">,
  resolved: ResolvedRoute<Route>,
  route: LoginRoute,
): Promise<Handled> {
  const { request } = context;
  const unanswered = unauthenticated(request.path);
  const opened = route.open({ ...context, ...placeOf(resolved) }, request.data);
  if (!opened.ok) return { ...unanswered, result: opened };
  const result = await opened.value.handle();
  return { ...unanswered, result, warnings: fieldWarnings(opened.value.sent, resolved.params) };
}

function placeOf({ params, mountPath }: ResolvedRoute<Route>): Pick<ReadyContext, "mountPath" | "params"> {
  return { params, mountPath };
}

function tokenRouteOf(found: ReturnType<typeof resolveRoute>): Result<ResolvedRoute<TokenRoute>, Failure> {
  if (!found.ok) return found;
  const { route } = found.value;
  return route.access === "token" ? ok({ ...found.value, route }) : err({ code: "unsupported_path" });
}

/**
 * True for a request that could change something or hand out a token: that is on record before it does. A read is not, though
 * it counts a use of its token, unless its answer is to be wrapped.
 */
function mayAct({ operation, wrapTtlSeconds }: GroveRequest): boolean {
  return wrapTtlSeconds > 0 || !READS.has(operation);
}

/** What a caller without rights is told: some routes have a word of their own for it. */
function refusalOf(failure: Failure, request: GroveRequest, route: TokenRoute | null): Failure {
  const refused = failure.code === DENIED.code || failure.code === UNAUTHENTICATED.code;
  return (refused && route?.refusal?.(request)) || failure;
}

function accessOf(request: GroveRequest, route: TokenRoute | null, mountPath: string): AccessRequest {
  const mount = request.path.slice(0, request.path.length - mountPath.length);
  const path = mount + (route?.canonicalPath?.(mountPath) ?? mountPath);
  return {
    operation: request.operation === "update" && route?.createsOrUpdates ? "create_or_update" : request.operation,
    path: isListing(request.operation) ? `${path}/` : path,
    data: request.data,
    ...(request.wrapTtlSeconds > 0 && { wrapTtlSeconds: request.wrapTtlSeconds }),
  };
}

/** Paths that hold a token are logged by their pattern. */
function pathForLog(request: GroveRequest, resolved: Result<ResolvedRoute<TokenRoute>, Failure>): string {
  if (resolved.ok) return resolved.value.route.secretPath ? resolved.value.pattern : request.path;
  return unservedPath(request.path);
}

/** A list without names does not exist for clients. */
function emptyListAsNotFound(request: GroveRequest, result: Result<Reply, Failure>): Result<Reply, Failure> {
  if (!isListing(request.operation)) return result;
  const keys = result.ok && result.value.kind === "data" ? result.value.data?.keys : undefined;
  return Array.isArray(keys) && keys.length === 0 ? err({ code: "not_found" }) : result;
}

const NONE: readonly string[] = [];

/** What the caller should know about fields that had no effect: unknown ones, and those that the path gives as well. */
function fieldWarnings({ unknown, known }: SentNames, params: Readonly<Record<string, string>>): readonly string[] {
  const replaced = known.filter((name) => Object.hasOwn(params, name));
  if (unknown.length === 0 && replaced.length === 0) return NONE;
  return [
    ...(unknown.length > 0 ? [`Endpoint ignored these unrecognized parameters: [${unknown.join(" ")}]`] : []),
    ...(replaced.length > 0
      ? [
          `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${replaced.join(" ")}]`,
        ]
      : []),
  ];
}

function unauthenticated(loggedPath: string): Omit<Handled, "result"> {
  return { warnings: [], caller: null, loggedPath };
}
