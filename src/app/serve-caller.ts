import { auditCaller } from "../auth/audit-record.ts";
import { authorizeCall } from "../auth/authorize-call.ts";
import { readToken } from "../auth/caller.ts";
import type { TokenRoute } from "../auth/route.ts";
import { DENIED, err, type Failure, ok, type Result, UNAUTHENTICATED } from "../base/result.ts";
import { groveVersion } from "../base/version.ts";
import { AUTH_METHODS } from "../methods/registry.ts";
import type { Installation } from "../system/installation.ts";
import { plainReply, type Reply } from "../wire/reply.ts";
import { type GroveRequest, isListing, mayAct } from "../wire/request.ts";
import { complete, endpointOf, fieldWarnings, respond, UNANSWERED } from "./answer.ts";
import type { Answer, AppContext } from "./context.ts";
import { helpOf } from "./help.ts";
import { unservedPathOf } from "./middleware/audit.ts";
import { accessOf, type FoundRoute, type Place } from "./places.ts";

/**
 * Answers a caller with a token: reads the token, has its tree authenticate, authorize and act in one hop, then has the route
 * answer. Only a caller whose policies reach the path learns that it is unknown, or that a field is malformed.
 *
 * @param found the route, or why there is none.
 */
export async function answerCaller(
  c: AppContext,
  installation: Installation,
  place: Place | null,
  found: Result<FoundRoute<TokenRoute>>,
): Promise<Response> {
  const { env } = c;
  const request = c.get("request");
  const record = c.get("record");
  const { route = null, params = {}, mountPath = request.path } = found.ok ? found.value : {};
  const loggedPath = found.ok ? pathForLog(request, found.value) : unservedPathOf(c);
  record.learn({ path: loggedPath }, installation);
  const unanswered: Answer = { ...UNANSWERED, endpoint: found.ok ? endpointOf(found.value) : null };
  const refuse = (failure: Failure) => respond(c, { ...unanswered, result: err(refusalOf(failure, request, route)) });

  const presented = request.token === "" ? null : await readToken(env, installation, request.token);
  if (!presented) return refuse(UNAUTHENTICATED);
  const line = mayAct(request) ? await record.firstLine() : null;

  // Input is read before the hop, so that the action can travel with it. The caller learns afterwards what is wrong with it.
  const context = { env, request, installation, methods: AUTH_METHODS, params, mountPath, presented };
  const opened = found.ok ? await found.value.route.open(context, request.data) : found;
  const access = await accessOf(context, request, found.ok ? found.value : null);
  const call = { presented, access, clientAddress: request.clientAddress, line };
  const authorized = await authorizeCall(env, installation, call, async () =>
    opened.ok ? opened.value.action() : null,
  );
  const { caller } = authorized.ok ? authorized.value : authorized.error;
  if (caller) request.notes.auth = auditCaller(caller);
  if (!authorized.ok) return refuse(authorized.error.failure);

  if (request.operation === "help") {
    return complete(c, { ...unanswered, result: help(place, request.path, groveVersion(env)) }, loggedPath);
  }
  if (!opened.ok) return respond(c, { ...unanswered, result: opened });
  const result = emptyListAsNotFound(request, await opened.value.handle(authorized.value));
  const warnings = fieldWarnings(opened.value.sent, params);
  return complete(c, { ...unanswered, result, warnings }, loggedPath);
}

/** What is at a path. Every caller may know it: it shows nothing of the installation but the types of its mounts. */
function help(place: Place | null, path: string, version: string): Result<Reply> {
  if (!place) return err({ code: "no_route", path });
  const found = helpOf(place.table, path.slice(place.mount.length), place.idPrefix, version);
  if (!found) return err({ code: "unsupported_path" });
  return ok(plainReply({ help: found.text, see_also: null, openapi: found.openapi }));
}

/** The refusal for a caller without rights: some routes have one of their own. */
function refusalOf(failure: Failure, request: GroveRequest, route: TokenRoute | null): Failure {
  const refused = failure.code === DENIED.code || failure.code === UNAUTHENTICATED.code;
  return (refused && route?.refusal?.(request)) || failure;
}

/** Paths that hold a token are logged by their pattern. */
function pathForLog(request: GroveRequest, { route, pattern }: FoundRoute<TokenRoute>): string {
  return route.secretPath ? pattern : request.path;
}

/** A list without names does not exist for clients. */
function emptyListAsNotFound(request: GroveRequest, result: Result<Reply>): Result<Reply> {
  if (!isListing(request.operation)) return result;
  const keys = result.ok && result.value.kind === "data" ? result.value.data?.keys : undefined;
  return Array.isArray(keys) && keys.length === 0 ? err({ code: "not_found" }) : result;
}
