import { authorizeCall } from "../auth/authorize-call.ts";
import { auditCaller } from "../auth/caller.ts";
import { readToken } from "../auth/read-token.ts";
import { fieldNamesOf, type LoginRoute, type OpenRoute, type Route, type TokenRoute } from "../auth/route.ts";
import { DENIED, err, type Failure, type Result, UNAUTHENTICATED } from "../base/result.ts";
import { groveVersion } from "../base/version.ts";
import { isListing } from "../policy/operation.ts";
import type { Installation } from "../system/installation.ts";
import { FOREIGN_PAGE } from "../wire/cross-site.ts";
import { plainReply, type Reply } from "../wire/reply.ts";
import { type GroveRequest, mayAct } from "../wire/request.ts";
import type { AppContext } from "./context.ts";
import { helpOf } from "./help.ts";
import { admitProvenRole } from "./rate-limit.ts";
import { answerRefusal, complete, endpointOf, fieldWarnings, respond, UNANSWERED, unservedPathOf } from "./respond.ts";
import { accessOf, type FoundRoute, findRoute, findTable, type MountedTable, presentFields } from "./route-tables.ts";
import { TABLES } from "./routes.ts";

/** Serves a request. At a path without a mount, only callers whose policies reach it learn that nothing is there. */
export function serve(c: AppContext): Response | Promise<Response> {
  const loaded = c.get("installation");
  const mounted = findTable(TABLES, loaded.ok ? loaded.value : null, c.get("request"));
  const found = findRoute(mounted, c.get("request"));
  const route = found.ok ? found.value.route : null;
  const sent = c.get("request");
  const data = presentFields(route, sent.data);
  if (data !== sent.data) c.set("request", { ...sent, data });
  const handleOpen = route?.access === "open" ? route.handle : route?.access === "token" && route.openHandler?.(c.env);
  if (found.ok && handleOpen) return serveOpen(c, found.value, handleOpen);
  if (!loaded.ok) return answerRefusal(c, loaded.error);
  if (found.ok && route?.access === "login") return serveLogin(c, loaded.value, found.value, route);
  return serveCaller(c, loaded.value, mounted, found, route?.access === "token" ? route : null);
}

/** Answers without a token. Works while the service is sealed. */
async function serveOpen(c: AppContext, found: FoundRoute, handle: OpenRoute["handle"]): Promise<Response> {
  const request = c.get("request");
  const { params } = found;
  const endpoint = endpointOf(found);
  c.get("record").learn({ path: request.path });
  if (isForgeable(request)) return answerRefusal(c, FOREIGN_PAGE, endpoint);
  if (mayAct(request)) await c.get("record").begin();
  const result = await handle({ env: c.env, request, params, loaded: c.get("installation") });
  return respond(c, { result, warnings: [], endpoint });
}

function readyContext(c: AppContext, installation: Installation) {
  const admitRole = (role: string) => admitProvenRole(c, role);
  return { env: c.env, request: c.get("request"), installation, admitRole };
}

/** For the audit record: which fields the route has. */
function knownFields(route: Route) {
  const names = fieldNamesOf(route);
  return { isKnown: (name: string) => names.has(name) };
}

/** Answers a login. No policies are evaluated, since its caller has no token yet. */
async function serveLogin(c: AppContext, installation: Installation, found: FoundRoute, route: LoginRoute) {
  const request = c.get("request");
  const { params } = found;
  const endpoint = endpointOf(found);
  c.get("record").learn({ path: request.path, ...knownFields(route) }, installation);
  if (!route.fromAnyPage && isForgeable(request)) return answerRefusal(c, FOREIGN_PAGE, endpoint);
  await c.get("record").begin();
  const context = { ...readyContext(c, installation), params };
  const opened = route.open(context, request.data);
  if (!opened.ok) return answerRefusal(c, opened.error, endpoint);
  const result = await opened.value.handle();
  const answer = { result, warnings: fieldWarnings(opened.value.sent, params), endpoint };
  // Anybody can take a step of a login that gives no token, and a wrapped answer is stored for as long as is asked.
  return result.ok && result.value.kind === "auth" ? complete(c, answer, request.path) : respond(c, answer);
}

/**
 * True for a request without a token that can change something and comes from a page of another site. A browser sends
 * such a request without asking. It sends a token in a header only after a preflight, which no endpoint allows.
 */
function isForgeable(request: GroveRequest): boolean {
  return mayAct(request) && request.sender() === "foreign page";
}

/**
 * Answers a caller with a token. Reads the token; its tree authenticates, authorizes and acts in one hop; then the
 * route answers. Only a caller whose policies reach the path learns that the path is unknown or a field is malformed.
 */
async function serveCaller(
  c: AppContext,
  installation: Installation,
  mounted: MountedTable | null,
  found: Result<FoundRoute>,
  route: TokenRoute | null,
): Promise<Response> {
  const { env } = c;
  const request = c.get("request");
  const record = c.get("record");
  const { params = {}, pattern = "" } = found.ok ? found.value : {};
  // A path that can contain a token is logged by its pattern.
  const loggedPath = route ? (route.secretPath ? pattern : request.path) : unservedPathOf(c);
  record.learn({ path: loggedPath, ...(found.ok && knownFields(found.value.route)) }, installation);
  const endpoint = found.ok ? endpointOf(found.value) : null;

  const presented = await readToken(env, installation, request.token);
  if (!presented) return answerRefusal(c, refusalOf(UNAUTHENTICATED, request, route), endpoint);
  const line = mayAct(request) ? await record.firstLine() : null;

  // The input is read before the hop that performs the action. Its problems are reported only after authorization.
  const context = { ...readyContext(c, installation), params, presented };
  const opened = route ? await route.open(context, request.data) : err(found.ok ? UNSUPPORTED : found.error);
  const access = await accessOf(context, request, found.ok ? found.value : null);
  request.notes.alternatePath = access.alternatePath ?? access.path;
  const malformed = route !== null && !opened.ok;
  const call = { presented, access, clientAddress: request.clientAddress, malformed, line };
  const authorized = await authorizeCall(env, installation, call, async () =>
    opened.ok ? opened.value.action() : null,
  );
  const { caller } = authorized.ok ? authorized.value : authorized.error;
  if (caller) request.notes.auth = auditCaller(caller);
  if (!authorized.ok) return answerRefusal(c, refusalOf(authorized.error.failure, request, route), endpoint);

  if (request.operation === "help") {
    const result = help(mounted, request.path, groveVersion(env));
    return complete(c, { ...UNANSWERED, result, endpoint }, loggedPath);
  }
  if (!opened.ok) return answerRefusal(c, opened.error, endpoint);
  const result = emptyListAsNotFound(request, await opened.value.handle(authorized.value));
  return complete(c, { result, warnings: fieldWarnings(opened.value.sent, params), endpoint }, loggedPath);
}

const UNSUPPORTED: Failure = { code: "unsupported_path" };

/** Returns the help for a path. Any caller may read it: of the installation it shows only the types of mounts. */
function help(mounted: MountedTable | null, path: string, version: string): Result<Reply> {
  if (!mounted) return err({ code: "no_route", path });
  const found = helpOf(mounted.table, path.slice(mounted.mount.length), mounted.table.idPrefix, version);
  return found ? plainReply({ help: found.text, see_also: null, openapi: found.openapi }) : err(UNSUPPORTED);
}

/** Returns the refusal of a caller without rights. Some routes define their own. */
function refusalOf(failure: Failure, request: GroveRequest, route: TokenRoute | null): Failure {
  const refused = failure.code === DENIED.code || failure.code === UNAUTHENTICATED.code;
  return (refused && route?.refusal?.(request)) || failure;
}

/** An empty list is answered with 404, as in the reference, unless the client asks for the list. */
function emptyListAsNotFound(request: GroveRequest, result: Result<Reply>): Result<Reply> {
  if (!isListing(request.operation) || request.takesEmptyList) return result;
  const keys = result.ok && result.value.kind === "data" ? result.value.data?.keys : undefined;
  return Array.isArray(keys) && keys.length === 0 ? err({ code: "not_found" }) : result;
}
