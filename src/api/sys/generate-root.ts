import { beginRootGeneration, finishRootGeneration, OTP_LENGTH } from "../../auth/generate-root.ts";
import { type Answered, type OpenContext, openRoute, type Route } from "../../auth/route.ts";
import { type Answer, dataAnswer, NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { err, type Failure, ok, refuse } from "../../base/result.ts";
import type { Installation } from "../../system/installation.ts";
import { systemOf } from "../../system/system.ts";
import { EMPTY, plainReply, type Reply } from "../../wire/reply.ts";
import { view } from "../../wire/view.ts";
import { isInitToken } from "./status/init.ts";

type Status = Readonly<Record<string, unknown>>;

/** What became of a call, as the log says it. */
type Step = "read" | "started" | "canceled" | "completed" | "refused";

const NEEDS_INIT_TOKEN: Failure = {
  code: "forbidden",
  message: "generating a root token needs the secret GROVE_INIT_TOKEN of this deployment, set and sent as the token",
};

/** An attempt to generate a root token. */
interface Attempt {
  /** "" for none. */
  readonly nonce: string;
  readonly otp?: string;
  /** The generated token, encoded. */
  readonly token?: string;
}

/** The fields of the reference's answers. */
const STATUS_VIEW = view<Attempt>({
  nonce: ["string", ({ nonce }) => nonce],
  started: ["boolean", ({ nonce }) => nonce !== ""],
  progress: ["integer", ({ token }) => (token === undefined ? 0 : 1)],
  required: ["integer", () => 1],
  complete: ["boolean", ({ token }) => token !== undefined],
  encoded_token: ["string", ({ token = "" }) => token],
  encoded_root_token: ["string", ({ token = "" }) => token],
  pgp_fingerprint: ["string", () => ""],
  otp: ["string", ({ otp = "" }) => otp],
  otp_length: ["integer", () => OTP_LENGTH],
});

/**
 * Generation of a root token for operators who have lost theirs. In the reference anybody may begin or cancel an attempt
 * (CVE-2025-52894, CVE-2026-5807), so here every call needs the init token, and without that secret there is none.
 *
 * Newer clients use the paths with `-token`, whose answers have an envelope; older ones those without.
 */
export const GENERATE_ROOT_ROUTES: readonly Route[] = [
  ...routesAt(
    "sys/generate-root-token",
    {
      read: "root-token-generation-read-progress2",
      begin: "root-token-generation-initialize",
      cancel: "root-token-generation-cancel",
      finish: "root-token-generation-update",
    },
    dataAnswer(STATUS_VIEW.shape),
    (data) => ({ kind: "data", data }),
  ),
  ...routesAt(
    "sys/generate-root",
    {
      read: "root-token-generation-read-progress",
      begin: "root-token-generation-initialize2",
      cancel: "root-token-generation-cancel2",
      finish: "root-token-generation-update2",
    },
    plainAnswer(STATUS_VIEW.shape),
    plainReply,
  ),
];

function routesAt(
  path: string,
  ids: Readonly<Record<"read" | "begin" | "cancel" | "finish", string>>,
  answers: Answer,
  answer: (status: Status) => Reply,
): Route[] {
  return [
    openRoute("read", `${path}/attempt`, {
      summary: "Shows whether a root token is being generated.",
      operationId: ids.read,
      fields: {},
      answers,
      handle: (context) =>
        guarded(context, "read", async ({ env }) => {
          const attempt = await systemOf(env).rootGeneration(currentTime());
          return ok(answer(STATUS_VIEW.show({ nonce: attempt?.nonce ?? "" })));
        }),
    }),

    openRoute("update", `${path}/attempt`, {
      summary: "Begins to generate a root token.",
      operationId: ids.begin,
      fields: {
        otp: { shape: "string", description: "What the new token will be encoded with; one is made unless sent" },
        pgp_key: { shape: "string", description: "Not supported" },
      },
      answers,
      handle: (context) =>
        guarded(context, "started", async ({ env, request }, installation) => {
          const { otp, pgp_key: pgpKey } = request.data;
          if (text(pgpKey) !== "") return refuse("pgp_key is not supported; use an OTP");
          const begun = await beginRootGeneration(env, installation, text(otp));
          if (!begun.ok) return begun;
          const { nonce, generatedOtp } = begun.value;
          return ok(answer(STATUS_VIEW.show({ nonce, otp: generatedOtp })));
        }),
    }),

    openRoute("delete", `${path}/attempt`, {
      summary: "Cancels the generation of a root token.",
      operationId: ids.cancel,
      fields: {},
      answers: NO_CONTENT,
      handle: (context) =>
        guarded(context, "canceled", async ({ env }) => {
          await systemOf(env).cancelRootGeneration();
          return ok(EMPTY);
        }),
    }),

    openRoute("update", `${path}/update`, {
      summary: "Generates the root token.",
      operationId: ids.finish,
      fields: {
        nonce: { shape: "string", description: "The nonce of the attempt" },
        key: { shape: "string", description: "The seal key of the deployment" },
      },
      answers,
      handle: (context) =>
        guarded(context, "completed", async ({ env, request }, installation) => {
          const { nonce, key } = request.data;
          if (text(nonce) === "") return refuse("nonce is required");
          if (text(key) === "") return refuse("key is required");
          const token = await finishRootGeneration(env, installation, text(nonce), text(key));
          if (!token.ok) return token;
          return ok(answer(STATUS_VIEW.show({ nonce: text(nonce), token: token.value })));
        }),
    }),
  ];
}

/** Admits only callers with the init token, and writes a line to the log about every call, refused or not. */
async function guarded(
  context: OpenContext,
  step: Step,
  work: (context: OpenContext, installation: Installation) => Answered,
): Answered {
  const { env, request, loaded } = context;
  if (!loaded.ok) return loaded;
  const result = isInitToken(env, request.token) ? await work(context, loaded.value) : err(NEEDS_INIT_TOKEN);
  const line = { type: "generate_root", step: result.ok ? step : "refused", wanted: step };
  console.log(JSON.stringify({ ...line, request_id: request.id, client_address: request.clientAddress }));
  return result;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
