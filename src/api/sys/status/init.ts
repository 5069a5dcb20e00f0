import { initialize } from "../../../auth/initialize.ts";
import { type Answered, type OpenContext, openRoute, type Route } from "../../../auth/route.ts";
import { plainAnswer } from "../../../auth/route-description.ts";
import { err, type Failure, ok } from "../../../base/result.ts";
import { equalBytes } from "../../../crypto/bytes.ts";
import type { Env } from "../../../env.ts";
import type { FieldSchema } from "../../../wire/fields.ts";
import { readFields } from "../../../wire/read-fields.ts";
import { plainReply } from "../../../wire/reply.ts";
import type { GroveRequest } from "../../../wire/request.ts";
import { canBeRebound } from "../../../wire/sender.ts";
import { stateOf } from "./status.ts";

const needsInitToken = (path: string): Failure => ({
  code: "forbidden",
  message: `${path} needs the secret GROVE_INIT_TOKEN of this deployment as its token`,
});

/** Else any page whose name its owner lets lead to this server's address could initialise a server that only its visitor reaches. */
const rebindablePage = (path: string): Failure => ({
  code: "forbidden",
  message: `a web page can call ${path} over plain HTTP only by an address or as localhost, unless GROVE_INIT_TOKEN is set`,
});

const encode = (text: string) => new TextEncoder().encode(text);

/** Clients of the reference send these; Grove has no unseal keys. */
const INIT_FIELDS = {
  secret_shares: { shape: "integer", description: "Not used" },
  secret_threshold: { shape: "integer", description: "Not used" },
  pgp_keys: { shape: ["string"], description: "Not used" },
  root_token_pgp_key: { shape: "string", description: "Not used" },
  recovery_shares: { shape: "integer", description: "Not used" },
  recovery_threshold: { shape: "integer", description: "Not used" },
  recovery_pgp_keys: { shape: ["string"], description: "Not used" },
} as const;

/** Initialisation of the service, once. */
export const INIT_ROUTES: readonly Route[] = [
  openRoute("read", "sys/init", {
    summary: "Tells whether the service is initialized.",
    operationId: "read-initialization-status",
    fields: {},
    answers: plainAnswer({ initialized: "boolean" }),
    handle: async ({ loaded }) => ok(plainReply({ initialized: stateOf(loaded).initialized })),
  }),

  openRoute("update", "sys/init", {
    summary: "Initializes the service, once, and answers the root token.",
    operationId: "initialize-system",
    fields: INIT_FIELDS,
    answers: plainAnswer({ keys: ["string"], keys_base64: ["string"], root_token: "string" }),
    handle: async ({ env, request, loaded }) => {
      const refusal = refusalOfStranger(env, request);
      if (refusal) return err(refusal);
      const root = await initialize(env, loaded, "");
      // No unseal keys exist: the seal key is the deployment's secret. Clients expect the lists all the same.
      return root.ok ? ok(plainReply({ keys: [], keys_base64: [], root_token: root.value })) : root;
    },
  }),
];

/** Why the sender of a request may not initialize this deployment, or restore a backup into it; null when it may. */
function refusalOfStranger(env: Env, request: GroveRequest): Failure | null {
  if (!mayInitialize(env, request.token)) return needsInitToken(request.path);
  const isRebindable = request.sender() !== "program" && canBeRebound(request.baseUrl());
  return !env.GROVE_INIT_TOKEN && isRebindable ? rebindablePage(request.path) : null;
}

/** True with the init token. A deployment is reachable before its operator gets to `sys/init`; without a secret the first caller gets root. */
export function mayInitialize(env: Env, token: string): boolean {
  return !env.GROVE_INIT_TOKEN || isInitToken(env, token);
}

/** True for the init token of a deployment that has one. */
export function isInitToken({ GROVE_INIT_TOKEN: secret }: Env, token: string): boolean {
  return !!secret && equalBytes(encode(token), encode(secret));
}

/** Serves a request of who may initialize this deployment, or restore a backup into it. */
export async function asInitializer<F>(
  { env, request }: OpenContext,
  schema: FieldSchema<F>,
  act: (fields: F) => Answered,
): Answered {
  const refusal = refusalOfStranger(env, request);
  if (refusal) return err(refusal);
  const read = readFields(schema, request.data, request.unreadNames);
  return read.ok ? act(read.value.values) : read;
}
