import type { Ms, Seconds } from "../base/clock.ts";
import { ok, type Result } from "../base/result.ts";
import { storedJson } from "../storage/tables.ts";

/** The answer of a handler, before it is rendered. */
export type Reply =
  /** 204. Only the warnings of `warnedReply` give such an answer a body. */
  | { readonly kind: "empty" }
  | {
      readonly kind: "data";
      readonly data: Readonly<Record<string, unknown>> | null;
      readonly warnings?: readonly string[];
      readonly status?: number;
      /** The lease of the secret in the answer. */
      readonly lease?: { readonly id: string; readonly renewable: boolean; readonly duration: Seconds };
      /** True: the keys of the data are repeated beside those of the envelope, as on some of the reference's paths. */
      readonly inject?: boolean;
    }
  | { readonly kind: "auth"; readonly auth: AuthReply; readonly warnings?: readonly string[] }
  /** A wrapping token. `auth` is the token in the answer that was stored. */
  | { readonly kind: "wrapped"; readonly wrapInfo: WrapInfo; readonly auth?: AuthReply }
  | { readonly kind: "stored"; readonly answer: StoredAnswer }
  /** 202 without a body: the server continues the operation after the answer. */
  | { readonly kind: "accepted" }
  | {
      readonly kind: "text";
      readonly status: number;
      readonly mediaType: string;
      readonly text: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** A body without the envelope. */
  | {
      readonly kind: "plain";
      readonly status: number;
      readonly body: Readonly<Record<string, unknown>>;
      /** How long caches may store the answer; absent: not at all. */
      readonly maxAge?: Seconds;
    };

/** Maximum length of an accessor of a secret-id. A caller can wrap data of its own with a field of any length. */
const MAX_ACCESSOR = 64;

/** Path of the stored answer in the cubbyhole of a wrapping token. */
export const RESPONSE_PATH = "response";

/** A finished answer, as wrapping stores it. */
export interface StoredAnswer {
  readonly status: number;
  /** The envelope as JSON. */
  readonly text: string;
}

/** Returns the answer as a value of the cubbyhole. Clients read its key `response`. */
export function valueOfAnswer({ status, text }: StoredAnswer): Record<string, unknown> {
  return status === 200 ? { response: text } : { response: text, status };
}

/** Returns the answer of a value of the cubbyhole. */
export function answerOfValue(value: Readonly<Record<string, unknown>>): StoredAnswer {
  return { text: String(value.response), status: typeof value.status === "number" ? value.status : 200 };
}

/** The accessor of what an answer holds: a token, or a secret-id. */
interface WithAccessor {
  readonly auth?: { readonly accessor?: string } | null;
  readonly data?: { readonly secret_id_accessor?: unknown } | null;
}

/** Returns the accessor of the token or the secret-id in an answer; "" for none. */
export function accessorInside({ text }: StoredAnswer): string {
  const { auth, data } = storedJson<WithAccessor>(text);
  if (auth?.accessor !== undefined) return auth.accessor;
  const ofSecretId = data?.secret_id_accessor;
  return typeof ofSecretId === "string" ? ofSecretId.slice(0, MAX_ACCESSOR) : "";
}

/** A wrapping token: it returns one stored answer, once. */
export interface WrapInfo {
  /** A secret. */
  readonly token: string;
  readonly accessor: string;
  readonly ttl: Seconds;
  readonly createdAt: Ms;
  readonly creationPath: string;
  /** Accessor of the token or the secret-id in the stored answer; "" for none. */
  readonly wrappedAccessor: string;
}

/** The `auth` part of an answer: a token that was issued, renewed or looked up. */
export interface AuthReply {
  /** A secret; "" where the endpoint does not return it. */
  readonly clientToken: string;
  readonly accessor: string;
  /** For the audit log only. */
  readonly displayName: string;
  readonly tokenPolicies: readonly string[];
  /** Policies of the entity. Added after the handler. */
  readonly identityPolicies?: readonly string[];
  readonly metadata: Readonly<Record<string, string>> | null;
  /** Secrets that the answer shows among the metadata. No token stores them, and the audit log has only hashes. */
  readonly secretMetadata?: Readonly<Record<string, string>>;
  /** 0: never expires. */
  readonly leaseDuration: Seconds;
  readonly renewable: boolean;
  readonly entityId: string;
  readonly tokenType: "service" | "batch";
  readonly orphan: boolean;
  readonly numUses: number;
}

/** 204. */
export const EMPTY = { kind: "empty" } as const satisfies Reply;

/** 204 after an operation that succeeded. */
export function doneReply(done: Result<unknown>): Result<Reply> {
  return done.ok ? ok(EMPTY) : done;
}

/**
 * 204, or 200 with warnings that the reference gives for the same write. Grove's own warnings must not change a 204
 * into a 200, so they are in the answers to reads, or of endpoints that are asked for them.
 */
export function warnedReply(warnings: readonly string[]): Reply {
  return warnings.length > 0 ? { kind: "data", data: null, warnings } : EMPTY;
}

/** 200 with `data`. */
export function dataReply(data: Readonly<Record<string, unknown>>, warnings?: readonly string[]): Result<Reply, never> {
  return ok(warnings ? { kind: "data", data, warnings } : { kind: "data", data });
}

/** 200 with `data`. Its keys are repeated beside the keys of the envelope. */
export function injectedReply(data: Readonly<Record<string, unknown>>): Result<Reply, never> {
  return ok({ kind: "data", data, inject: true });
}

/** 200 with a body without an envelope. @param maxAge how long caches may keep it; 0: not at all. */
export function plainReply(body: Readonly<Record<string, unknown>>, maxAge: Seconds = 0): Result<Reply, never> {
  return ok({ kind: "plain", status: 200, body, ...(maxAge > 0 && { maxAge }) });
}

const TIDY_STARTED =
  "Tidy operation successfully started. Any information from the operation will be printed to Vault's server logs.";
const TIDY_RUNNING = "Tidy operation already in progress.";

/** Answers a tidy endpoint: 202 when a run was started, 200 when one was running. Both warnings are the reference's. */
export function tidyReply(started: boolean): Result<Reply, never> {
  const warnings = [started ? TIDY_STARTED : TIDY_RUNNING];
  return ok({ kind: "data", data: null, status: started ? 202 : 200, warnings });
}
