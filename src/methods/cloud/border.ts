import type { LoginRoute, OpenRoute, Route, TokenRoute } from "../../auth/route.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { ReadFields } from "../../wire/fields.ts";
import type { Reply } from "../../wire/reply.ts";
import {
  type CloudMountType,
  translateAnswer,
  translateFieldName,
  translateMessage,
  translateRequest,
} from "./vocabulary.ts";

/** `routes`, which know one vocabulary, as a mount of this type speaks them. */
export function speaking(type: CloudMountType, routes: readonly Route[]): Route[] {
  return routes.map((route) => routeIn(type, route));
}

function routeIn(type: CloudMountType, route: Route): Route {
  switch (route.access) {
    case "token":
      return tokenRouteIn(type, route);
    case "login":
      return loginRouteIn(type, route);
    case "open":
      return openRouteIn(type, route);
  }
}

function openRouteIn(type: CloudMountType, route: OpenRoute): OpenRoute {
  return { ...route, handle: async (context) => answerIn(type, await route.handle(context)) };
}

function loginRouteIn(type: CloudMountType, route: LoginRoute<never>): LoginRoute<never> {
  return {
    ...route,
    fields: (data) => readIn(type, route, data),
    handle: async (context) => answerIn(type, await route.handle(context)),
  };
}

function tokenRouteIn(type: CloudMountType, route: TokenRoute<never, never>): TokenRoute<never, never> {
  return {
    ...route,
    fields: (data) => readIn(type, route, data),
    async prepare(context) {
      const prepared = await route.prepare(context);
      return prepared.ok ? prepared : err(failureIn(type, prepared.error));
    },
    async handle(context) {
      return answerIn(type, await route.handle(context));
    },
  };
}

function readIn(
  type: CloudMountType,
  route: Pick<TokenRoute<never, never>, "fields">,
  data: Readonly<Record<string, unknown>>,
): Result<ReadFields<never>, Failure> {
  const read = route.fields(translateRequest(type, data));
  if (!read.ok) return err(failureIn(type, read.error));
  const unknown = read.value.unknown.map((name) => translateFieldName(type, name)).sort();
  return ok({ ...read.value, unknown });
}

function answerIn(type: CloudMountType, result: Result<Reply, Failure>): Result<Reply, Failure> {
  if (!result.ok) return err(failureIn(type, result.error));
  const reply = result.value;
  if (!("warnings" in reply || "data" in reply)) return result;
  const warnings = (reply.warnings ?? []).map((text) => translateMessage(type, text));
  if (reply.kind !== "data" || !reply.data) return ok({ ...reply, warnings });
  return ok({ ...reply, warnings, data: translateAnswer(type, reply.data) });
}

function failureIn(type: CloudMountType, failure: Failure): Failure {
  return "message" in failure ? { ...failure, message: translateMessage(type, failure.message) } : failure;
}
