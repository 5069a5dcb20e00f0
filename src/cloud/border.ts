import type { Failure } from "../errors.ts";
import type { Reply } from "../http/reply.ts";
import type { RequestContext, Route, TokenRoute } from "../http/route.ts";
import { err, ok, type Result } from "../result.ts";
import {
  type CloudMountType,
  translateAnswer,
  translateFieldName,
  translateMessage,
  translateRequest,
} from "./vocabulary.ts";

/** `routes`, which know one vocabulary, as a mount of this type speaks them. */
export function speaking(type: CloudMountType, routes: readonly Route[]): Route[] {
  return routes.map((route): Route => {
    if (route.access === "token") return tokenRouteIn(type, route);
    const { handle } = route;
    return { ...route, handle: async (context: RequestContext) => answerIn(type, await handle(context)) };
  });
}

function tokenRouteIn(type: CloudMountType, route: TokenRoute<never, never>): TokenRoute<never, never> {
  return {
    ...route,
    fields(data) {
      const read = route.fields(translateRequest(type, data));
      if (!read.ok) return err(failureIn(type, read.error));
      const unknown = read.value.unknown.map((name) => translateFieldName(type, name)).sort();
      return ok({ ...read.value, unknown });
    },
    async prepare(context) {
      const prepared = await route.prepare(context);
      return prepared.ok ? prepared : err(failureIn(type, prepared.error));
    },
    async handle(context) {
      return answerIn(type, await route.handle(context));
    },
  };
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
