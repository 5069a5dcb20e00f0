import type { AuthMethod } from "../../auth/method.ts";
import type { LoginRoute, OpenRoute, Route, TokenRoute } from "../../auth/route.ts";
import { err, type Failure, ok, type Result } from "../../base/result.ts";
import type { SentNames } from "../../wire/read-fields.ts";
import type { Reply } from "../../wire/reply.ts";
import { accessShardsOf, cloudAuthAt } from "./mount/mount.ts";
import { renewCloudLogin } from "./renewal.ts";
import { CLOUD_ROUTES } from "./routes.ts";
import {
  type CloudMountType,
  translateAnswer,
  translateFieldName,
  translateMessage,
  translateRequest,
} from "./vocabulary.ts";

/** `routes`, which know one vocabulary, in the vocabulary of a mount type: requests, answers and messages are translated. */
function withVocabulary(type: CloudMountType, routes: readonly Route[]): Route[] {
  const fieldName = (name: string) => translateFieldName(type, name);
  return routes.map((route) => ({ ...adapt(type, route), fieldName }));
}

function adapt(type: CloudMountType, route: Route): Route {
  switch (route.access) {
    case "token":
      return adaptTokenRoute(type, route);
    case "login":
      return adaptLoginRoute(type, route);
    case "open":
      return adaptOpenRoute(type, route);
  }
}

function adaptOpenRoute(type: CloudMountType, route: OpenRoute): OpenRoute {
  return { ...route, handle: async (context) => translateResult(type, await route.handle(context)) };
}

function adaptLoginRoute(type: CloudMountType, route: LoginRoute): LoginRoute {
  return {
    ...route,
    open(context, data) {
      const opened = route.open(context, translateRequest(type, data));
      if (!opened.ok) return err(translateFailure(type, opened.error));
      const { sent, handle } = opened.value;
      return ok({ sent: translateNames(type, sent), handle: async () => translateResult(type, await handle()) });
    },
  };
}

function adaptTokenRoute(type: CloudMountType, route: TokenRoute): TokenRoute {
  return {
    ...route,
    async open(context, data) {
      const opened = await route.open(context, translateRequest(type, data));
      if (!opened.ok) return err(translateFailure(type, opened.error));
      const { sent, action, handle } = opened.value;
      return ok({
        sent: translateNames(type, sent),
        action,
        handle: async (authorized) => translateResult(type, await handle(authorized)),
      });
    },
  };
}

function translateNames(type: CloudMountType, { unknown, known }: SentNames): SentNames {
  return { unknown: unknown.map((name) => translateFieldName(type, name)).sort(), known };
}

function translateResult(type: CloudMountType, result: Result<Reply>): Result<Reply> {
  if (!result.ok) return err(translateFailure(type, result.error));
  const reply = result.value;
  if (!("warnings" in reply || "data" in reply)) return result;
  const warnings = (reply.warnings ?? []).map((text) => translateMessage(type, text));
  if (reply.kind !== "data" || !reply.data) return ok({ ...reply, warnings });
  return ok({ ...reply, warnings, data: translateAnswer(type, reply.data) });
}

function translateFailure(type: CloudMountType, failure: Failure): Failure {
  if (failure.code === "unknown_fields") {
    return { ...failure, names: failure.names.map((name) => translateFieldName(type, name)) };
  }
  return "message" in failure ? { ...failure, message: translateMessage(type, failure.message) } : failure;
}

/** Logins of instances and principals of a cloud, in the vocabulary of the mount type. */
function cloudMethod(type: CloudMountType): AuthMethod {
  return {
    type,
    routes: withVocabulary(type, CLOUD_ROUTES),
    renew: renewCloudLogin,
    rolesGiving: (env, mount, policy) => cloudAuthAt(env, mount).rolesGiving(policy),
    async erase(env, mount) {
      await Promise.all([cloudAuthAt(env, mount), ...accessShardsOf(env, mount).map(({ list }) => list)].map(eraseOf));
    },
  };
}

async function eraseOf(object: { erase(): Promise<void> }): Promise<void> {
  await object.erase();
}

export const CLOUD_METHOD: AuthMethod = cloudMethod("cloud");
export const AWS_METHOD: AuthMethod = cloudMethod("aws");
