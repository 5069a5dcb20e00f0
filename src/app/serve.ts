import type { LoginRoute, OpenRoute, Route, TokenRoute } from "../auth/route.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { AUTH_METHODS } from "../methods/registry.ts";
import type { Installation } from "../system/installation.ts";
import { type GroveRequest, mayAct } from "../wire/request.ts";
import { FOREIGN_PAGE } from "../wire/sender.ts";
import { complete, endpointOf, fieldWarnings, refuse, respond, UNANSWERED } from "./answer.ts";
import type { AppContext, AppHandler } from "./context.ts";
import { type FoundRoute, findRoute, fixedPlace, type Place, placeOfMount, type RouteTable } from "./places.ts";
import { TABLES } from "./routes.ts";
import { answerCaller } from "./serve-caller.ts";

/** Serves the routes of a table by their full paths. */
export function serveTable(table: RouteTable): AppHandler {
  const place = fixedPlace(table);
  return (c) => serve(c, place);
}

/** Serves the routes of an auth mount. Mounts are made while the service runs, so each request finds its own. */
export const serveMount: AppHandler = (c) => {
  const loaded = c.get("installation");
  if (!loaded.ok) return refuse(c, loaded.error);
  const place = placeOfMount(TABLES, loaded.value, c.get("request"));
  return place ? serve(c, place) : c.notFound();
};

/** Answers where nothing is mounted. Only a caller whose policies reach the path learns that. */
export const serveNothing = (c: AppContext): Response | Promise<Response> => serve(c, null);

function serve(c: AppContext, place: Place | null): Response | Promise<Response> {
  const found = findRoute(place, c.get("request"));
  const openHandler = found.ok ? openHandlerOf(c.env, found.value.route) : null;
  if (found.ok && openHandler) return answerOpen(c, found.value, openHandler);
  const loaded = c.get("installation");
  if (!loaded.ok) return refuse(c, loaded.error);
  if (found.ok && found.value.route.access === "login") {
    return answerLogin(c, loaded.value, { ...found.value, route: found.value.route });
  }
  return answerCaller(c, loaded.value, place, tokenRouteOf(found));
}

/** The handler of a route that needs no token here, or null. */
function openHandlerOf(env: Env, route: Route): OpenRoute["handle"] | null {
  if (route.access === "open") return route.handle;
  return (route.access === "token" && route.openHandler?.(env)) || null;
}

function tokenRouteOf(found: Result<FoundRoute>): Result<FoundRoute<TokenRoute>> {
  if (!found.ok) return found;
  const { route } = found.value;
  return route.access === "token" ? ok({ ...found.value, route }) : err({ code: "unsupported_path" });
}

/** Answers without a token. It works while the service is sealed. */
async function answerOpen(c: AppContext, found: FoundRoute, handle: OpenRoute["handle"]): Promise<Response> {
  const request = c.get("request");
  const { params, mountPath } = found;
  c.get("record").learn({ path: request.path });
  const unanswered = { ...UNANSWERED, endpoint: endpointOf(found) };
  if (isForgeable(request)) return respond(c, { ...unanswered, result: err(FOREIGN_PAGE) });
  if (mayAct(request)) await c.get("record").begin();
  const result = await handle({ env: c.env, request, params, mountPath, loaded: c.get("installation") });
  return respond(c, { ...unanswered, result });
}

/** Answers a login. Its caller has no token yet, so no policies are asked. */
async function answerLogin(
  c: AppContext,
  installation: Installation,
  found: FoundRoute<LoginRoute>,
): Promise<Response> {
  const request = c.get("request");
  const { route, params, mountPath } = found;
  c.get("record").learn({ path: request.path }, installation);
  const unanswered = { ...UNANSWERED, endpoint: endpointOf(found) };
  if (isForgeable(request)) return respond(c, { ...unanswered, result: err(FOREIGN_PAGE) });
  await c.get("record").begin();
  const context = { env: c.env, request, installation, methods: AUTH_METHODS, params, mountPath };
  const opened = route.open(context, request.data);
  if (!opened.ok) return respond(c, { ...unanswered, result: opened });
  const result = await opened.value.handle();
  const warnings = fieldWarnings(opened.value.sent, params);
  return complete(c, { ...unanswered, result, warnings }, request.path);
}

/**
 * True for a request that needs no token, may act, and comes from a page of another site: of such a one a browser asks no
 * leave. One with a token in a header is sent only where a preflight allows it, which is nowhere.
 */
function isForgeable(request: GroveRequest): boolean {
  return mayAct(request) && request.sender() === "foreign page";
}
