import { initialize } from "../../auth/initialize.ts";
import { type Answered, type OpenContext, type OpenRoute, openRoute, type Route } from "../../auth/route.ts";
import { describeFields, plainAnswer, type RouteDescription } from "../../auth/route-description.ts";
import { err, type Failure } from "../../base/result.ts";
import { withoutWhiteSpace } from "../../base/white-space.ts";
import { equalTexts } from "../../crypto/bytes.ts";
import type { Env } from "../../env.ts";
import { canBeRebound } from "../../wire/cross-site.ts";
import { type FieldSchema, readFields } from "../../wire/field-schema.ts";
import { plainReply } from "../../wire/reply.ts";
import type { GroveRequest } from "../../wire/request.ts";
import { serviceStateOf } from "./status.ts";

export const INIT_ROUTES: readonly Route[] = [
  openRoute("read", "sys/init", {
    summary: "Shows whether the service is initialized.",
    operationId: "read-initialization-status",
    answers: plainAnswer({ initialized: "boolean" }),
    handle: async ({ loaded }) => plainReply({ initialized: serviceStateOf(loaded).initialized }),
  }),

  openRoute("update", "sys/init", {
    summary: "Initializes the service, once, and returns the root token.",
    operationId: "initialize-system",
    // Clients of the reference send these. Grove has no unseal keys.
    fields: {
      secret_shares: { shape: "integer", description: "Ignored" },
      secret_threshold: { shape: "integer", description: "Ignored" },
      pgp_keys: { shape: ["string"], description: "Ignored" },
      root_token_pgp_key: { shape: "string", description: "Ignored" },
      recovery_shares: { shape: "integer", description: "Ignored" },
      recovery_threshold: { shape: "integer", description: "Ignored" },
      recovery_pgp_keys: { shape: ["string"], description: "Ignored" },
    },
    answers: plainAnswer({ keys: ["string"], keys_base64: ["string"], root_token: "string" }),
    handle: async ({ env, request, loaded }) => {
      const refusal = refusalOfStranger(env, request);
      if (refusal) return err(refusal);
      const root = await initialize(env, loaded, "");
      // The lists are empty: there are no unseal keys, and the seal key is a secret of the deployment.
      return root.ok ? plainReply({ keys: [], keys_base64: [], root_token: root.value }) : root;
    },
  }),
];

/** Returns why the sender may neither initialize this deployment nor restore a backup into it; null when it may. */
function refusalOfStranger(env: Env, { path, token, sender, baseUrl }: GroveRequest): Failure | null {
  const forbidden = (message: string): Failure => ({ code: "forbidden", message });
  if (!mayInitialize(env, token)) {
    return forbidden(`${path} needs the secret GROVE_INIT_TOKEN of this deployment as its token`);
  }
  // DNS rebinding: a web page whose name resolves to this server's address could otherwise initialize a server that
  // only the visitor of the page can reach.
  if (env.GROVE_INIT_TOKEN || sender() === "program" || !canBeRebound(baseUrl())) return null;
  return forbidden(
    `a web page can call ${path} over plain HTTP only by an address or as localhost, unless GROVE_INIT_TOKEN is set`,
  );
}

/**
 * True with the init token, and for every token in a deployment without that secret: there the first caller becomes
 * root. With the secret, a deployment can be reachable before its operator initializes it.
 */
export function mayInitialize(env: Env, token: string): boolean {
  return !env.GROVE_INIT_TOKEN || isInitToken(env, token);
}

/** True for the init token of a deployment that has one. A secret of white space alone matches no token. */
export function isInitToken({ GROVE_INIT_TOKEN = "" }: Env, token: string): boolean {
  const secret = withoutWhiteSpace(GROVE_INIT_TOKEN);
  return secret !== "" && equalTexts(token, secret);
}

/** Defines an endpoint for callers that may initialize this deployment, or restore a backup into it. */
export function initializerRoute<F>(
  operation: "read" | "update",
  path: string,
  declared: Omit<RouteDescription, "fields"> & { input: FieldSchema<F>; handle(c: OpenContext, fields: F): Answered },
): OpenRoute {
  const { input, handle, ...description } = declared;
  return openRoute(operation, path, {
    ...description,
    fields: describeFields(input),
    async handle(context) {
      const { env, request } = context;
      const refusal = refusalOfStranger(env, request);
      if (refusal) return err(refusal);
      const read = readFields(input, request.data, request.unreadNames);
      return read.ok ? handle(context, read.value.values) : read;
    },
  });
}
