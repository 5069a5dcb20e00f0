import { rootToken } from "../../auth/initialize.ts";
import { issue } from "../../auth/issue.ts";
import { type Answered, type OpenContext, openRoute, type Route } from "../../auth/route.ts";
import { type Answer, dataAnswer, NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../base/result.ts";
import { randomBase62 } from "../../crypto/base62.ts";
import { equalBytes, fromBase64, fromHex, toBase64 } from "../../crypto/bytes.ts";
import { parseSealKey } from "../../crypto/key-ring.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import type { Env } from "../../env.ts";
import type { Installation } from "../../system/installation.ts";
import { MAX_KEY_TRIES } from "../../system/installation-store.ts";
import { systemOf } from "../../system/system.ts";
import { SERVICE_TOKEN_LENGTH } from "../../token/ids.ts";
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

// How a root token is generated for operators who have none, with the messages of the reference's sys/generate-root-token.
// There, shares of the unseal key are given one after the other; here the seal key is the only share.

/** Characters of the one-time password: those of the token that is encoded with it. */
const OTP_LENGTH = SERVICE_TOKEN_LENGTH;

const OTP_CONTEXT = "generate-root otp";
const PRINTABLE = /^[\x21-\x7e]+$/;
const NONE = invalid("no root generation in progress");

const encode = (text: string) => new TextEncoder().encode(text);

/** An attempt that was opened. */
interface OpenedAttempt {
  readonly nonce: string;
  /** "" when the caller sent one. */
  readonly generatedOtp: string;
}

/** Opens an attempt. @param otp "" for one that is made here; it is shown once. */
async function beginRootGeneration(env: Env, installation: Installation, otp: string): Promise<Result<OpenedAttempt>> {
  if (otp !== "" && (otp.length !== OTP_LENGTH || !PRINTABLE.test(otp))) {
    return refuse("OTP string has incorrect length");
  }
  const generatedOtp = otp === "" ? randomBase62(OTP_LENGTH) : "";
  const sealedOtp = await sealText(installation.keys, OTP_CONTEXT, otp || generatedOtp);
  const nonce = crypto.randomUUID();
  const begun = await systemOf(env).beginRootGeneration({ nonce, sealedOtp }, currentTime());
  return begun ? ok({ nonce, generatedOtp }) : refuse("root generation already in progress");
}

/**
 * Makes a root token for the holder of the seal key.
 *
 * The attempt is closed before the token is made: of two at once, and after a crash in between, there is never more than one
 * token for one attempt.
 *
 * @returns the token, combined with the one-time password bit by bit, in unpadded base64.
 */
async function finishRootGeneration(
  env: Env,
  installation: Installation,
  nonce: string,
  key: string,
): Promise<Result<string>> {
  const now = currentTime();
  const attempt = await systemOf(env).tryRootGeneration(now);
  if (!attempt) return err(NONE);
  const wrong = (message: string) =>
    refuse(attempt.left > 0 ? message : `${message}; the attempt ends after ${MAX_KEY_TRIES} tries`);
  if (!equalBytes(encode(nonce), encode(attempt.nonce))) return wrong("incorrect nonce supplied");
  if (!isSealKey(env, key)) return wrong("root generation aborted: the key is not the seal key of this deployment");
  const otp = await openText(installation.keys, OTP_CONTEXT, attempt.sealedOtp);
  if (otp === null) return refuse("root generation aborted: the attempt was tampered with; cancel it");
  if (!(await systemOf(env).closeRootGeneration(nonce, now))) return err(NONE);
  const issued = await issue(env, installation, rootToken(now, null), null, "");
  if (!issued.ok) return issued;
  const token = encode(issued.value.clientToken);
  const pad = encode(otp);
  const encoded = token.map((byte, i) => byte ^ (pad[i] ?? 0));
  return ok(toBase64(encoded).replace(/=+$/, ""));
}

/** @param key as set in the deployment, or its 32 bytes alone in base64 or hex. */
function isSealKey(env: Env, key: string): boolean {
  const sealKey = parseSealKey(env.GROVE_SEAL_KEY ?? "");
  const text = key.trim().replace(/^\d{1,6}:/, "");
  const bytes = fromHex(text.toLowerCase()) ?? fromBase64(text);
  return sealKey.ok && bytes !== null && equalBytes(bytes, sealKey.value.bytes);
}
