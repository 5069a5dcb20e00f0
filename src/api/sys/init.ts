import { initialize, rootToken } from "../../auth/initialize.ts";
import { issue } from "../../auth/issue.ts";
import { type Answered, type OpenContext, type OpenRoute, openRoute, type Route } from "../../auth/route.ts";
import {
  dataAnswer,
  describeFields,
  NO_CONTENT,
  plainAnswer,
  type RouteDescription,
} from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../base/result.ts";
import { withoutWhiteSpace } from "../../base/white-space.ts";
import { randomBase62 } from "../../crypto/base62.ts";
import { equalBytes, equalTexts, fromBase64, fromHex, toBase64 } from "../../crypto/bytes.ts";
import { parseSealKey } from "../../crypto/key-ring.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import type { Env } from "../../env.ts";
import type { Installation } from "../../system/installation.ts";
import { MAX_KEY_TRIES } from "../../system/installation-store.ts";
import { systemOf } from "../../system/system.ts";
import { SERVICE_TOKEN_LENGTH } from "../../token/ids.ts";
import { canBeRebound } from "../../wire/cross-site.ts";
import { type FieldSchema, readFields } from "../../wire/field-schema.ts";
import { dataReply, EMPTY, plainReply } from "../../wire/reply.ts";
import type { GroveRequest } from "../../wire/request.ts";
import { view } from "../../wire/view.ts";
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

const NEEDS_INIT_TOKEN: Failure = {
  code: "forbidden",
  message: "generating a root token needs the secret GROVE_INIT_TOKEN of this deployment, set and sent as the token",
};
const NO_ATTEMPT = invalid("no root generation in progress");

/** Length of the one-time password, in characters: that of the token that is combined with it. */
const OTP_LENGTH = SERVICE_TOKEN_LENGTH;

/** An attempt: its nonce, or "" for none; the one-time password, if it was generated; the token, combined with it. */
type Attempt = { readonly nonce: string; readonly otp?: string; readonly token?: string };

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
 * Generation of a root token for an operator who has lost it, with the messages of the reference's
 * sys/generate-root-token. In the reference shares of the unseal key are sent one after the other; here the seal key is
 * the only share. There every client may begin or cancel an attempt (CVE-2025-52894, CVE-2026-5807). Here every call
 * needs the init token; a deployment without that secret has no generation of root tokens.
 *
 * Newer clients use the paths with `-token`, whose answers have an envelope; older clients use the others.
 */
export const GENERATE_ROOT_ROUTES: readonly Route[] = [
  ...routesAt("sys/generate-root-token"),
  ...routesAt("sys/generate-root"),
];

function routesAt(path: "sys/generate-root-token" | "sys/generate-root"): Route[] {
  const hasEnvelope = path === "sys/generate-root-token";
  const [readEnd, writeEnd] = hasEnvelope ? ["2", ""] : ["", "2"];
  const answers = hasEnvelope ? dataAnswer(STATUS_VIEW.shape) : plainAnswer(STATUS_VIEW.shape);
  const answer = (attempt: Attempt) => {
    const status = STATUS_VIEW.show(attempt);
    return hasEnvelope ? dataReply(status) : plainReply(status);
  };
  return [
    openRoute("read", `${path}/attempt`, {
      summary: "Shows whether a root token is being generated.",
      operationId: `root-token-generation-read-progress${readEnd}`,
      answers,
      handle: guarded("read", async ({ env }) => {
        const attempt = await systemOf(env).rootGeneration(currentTime());
        return answer({ nonce: attempt?.nonce ?? "" });
      }),
    }),

    openRoute("update", `${path}/attempt`, {
      summary: "Starts the generation of a root token.",
      operationId: `root-token-generation-initialize${writeEnd}`,
      fields: {
        otp: {
          shape: "string",
          description: "One-time password that encodes the token; generated by default",
        },
        pgp_key: { shape: "string", description: "Not supported" },
      },
      answers,
      handle: guarded("started", async ({ env, request }, installation) => {
        const { otp, pgp_key: pgpKey } = request.data;
        if (text(pgpKey) !== "") return refuse("pgp_key is not supported; use an OTP");
        const begun = await beginAttempt(env, installation, text(otp));
        return begun.ok ? answer(begun.value) : begun;
      }),
    }),

    openRoute("delete", `${path}/attempt`, {
      summary: "Cancels the generation of a root token.",
      operationId: `root-token-generation-cancel${writeEnd}`,
      answers: NO_CONTENT,
      handle: guarded("canceled", async ({ env }) => {
        await systemOf(env).cancelRootGeneration();
        return ok(EMPTY);
      }),
    }),

    openRoute("update", `${path}/update`, {
      summary: "Completes the generation, and returns the root token.",
      operationId: `root-token-generation-update${writeEnd}`,
      fields: {
        nonce: { shape: "string", description: "The nonce of the attempt" },
        key: { shape: "string", description: "The seal key of the deployment" },
      },
      answers,
      handle: guarded("completed", async ({ env, request }, installation) => {
        const { nonce, key } = request.data;
        if (text(nonce) === "") return refuse("nonce is required");
        if (text(key) === "") return refuse("key is required");
        const token = await finishAttempt(env, installation, text(nonce), text(key));
        return token.ok ? answer({ nonce: text(nonce), token: token.value }) : token;
      }),
    }),
  ];
}

/** Requires the init token, and logs every call, also a refused one. @param step its name in the log. */
function guarded(
  step: "read" | "started" | "canceled" | "completed",
  work: (context: OpenContext, installation: Installation) => Answered,
): OpenRoute["handle"] {
  return async (context) => {
    const { env, request, loaded } = context;
    if (!loaded.ok) return loaded;
    const result = isInitToken(env, request.token) ? await work(context, loaded.value) : err(NEEDS_INIT_TOKEN);
    const line = { type: "generate_root", step: result.ok ? step : "refused", wanted: step };
    console.log(JSON.stringify({ ...line, request_id: request.id, client_address: request.clientAddress }));
    return result;
  };
}

/** Returns what was sent without white space; "" for anything but a text. */
function text(value: unknown): string {
  return typeof value === "string" ? withoutWhiteSpace(value) : "";
}

const PRINTABLE = /^[\x21-\x7e]+$/;

const encode = (text: string) => new TextEncoder().encode(text);

/** Binds a sealed one-time password to its attempt: it does not open for another attempt. */
function otpContext(nonce: string): string {
  return `generate-root otp ${nonce}`;
}

/** Begins an attempt. @param otp "" to generate the one-time password, which is shown only in this answer. */
async function beginAttempt(env: Env, installation: Installation, otp: string): Promise<Result<Attempt>> {
  if (otp !== "" && (otp.length !== OTP_LENGTH || !PRINTABLE.test(otp))) {
    return refuse("OTP string has incorrect length");
  }
  const generatedOtp = otp === "" ? randomBase62(OTP_LENGTH) : "";
  const nonce = crypto.randomUUID();
  const sealedOtp = await sealText(installation.keys, otpContext(nonce), otp || generatedOtp);
  const begun = await systemOf(env).beginRootGeneration({ nonce, sealedOtp }, currentTime());
  return begun ? ok({ nonce, otp: generatedOtp }) : refuse("root generation already in progress");
}

/**
 * Creates a root token for the holder of the seal key. The attempt is closed first: then there is at most one token for
 * an attempt, also after two calls at once or a crash. Returns the token XOR the one-time password.
 */
async function finishAttempt(env: Env, installation: Installation, nonce: string, key: string) {
  const now = currentTime();
  const attempt = await systemOf(env).tryRootGeneration(now);
  if (!attempt) return err(NO_ATTEMPT);
  const wrong = (message: string) =>
    refuse(attempt.left > 0 ? message : `${message}; the attempt ends after ${MAX_KEY_TRIES} tries`);
  if (!equalTexts(nonce, attempt.nonce)) return wrong("incorrect nonce supplied");
  if (!isSealKey(env, key)) return wrong("root generation aborted: the key is not the seal key of this deployment");
  const otp = await openText(installation.keys, otpContext(nonce), attempt.sealedOtp);
  if (otp === null) return refuse("root generation aborted: the attempt was tampered with; cancel it");
  if (!(await systemOf(env).closeRootGeneration(nonce, now))) return err(NO_ATTEMPT);
  const issued = await issue(env, installation, rootToken(now, null), null, "");
  if (!issued.ok) return issued;
  const token = encode(issued.value.clientToken);
  const pad = encode(otp);
  const encoded = token.map((byte, i) => byte ^ (pad[i] ?? 0));
  return ok(toBase64(encoded).replace(/=+$/, ""));
}

/** True for the seal key: as it is set in the deployment, or only its 32 bytes, in base64 or hex. */
function isSealKey(env: Env, key: string): boolean {
  const sealKey = parseSealKey(env.GROVE_SEAL_KEY ?? "");
  const text = key.replace(/^\d{1,6}:/, "");
  const bytes = fromHex(text.toLowerCase()) ?? fromBase64(text);
  return sealKey.ok && bytes !== null && equalBytes(bytes, sealKey.value.bytes);
}
