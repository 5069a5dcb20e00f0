import { ok, type Result } from "../base/result.ts";
import type { StoredAnswer } from "./stored-answer.ts";

/** The answer of a handler, before it is put on the wire. */
export type Reply =
  /** 204, or 200 with an empty envelope when the handler warns about something. */
  | { readonly kind: "empty"; readonly warnings?: readonly string[] }
  | {
      readonly kind: "data";
      readonly data: Readonly<Record<string, unknown>> | null;
      readonly warnings?: readonly string[];
      /** 200 unless set. */
      readonly status?: number;
      /** The lease of the secret that the answer is about. */
      readonly lease?: LeaseReply;
      /** Repeats every key of data beside the envelope's, as some system paths do. */
      readonly inject?: boolean;
    }
  | { readonly kind: "auth"; readonly auth: AuthReply; readonly warnings?: readonly string[] }
  /** The answer was put away; this is the token that gives it. `auth` is the token that was handed out in that answer. */
  | { readonly kind: "wrapped"; readonly wrapInfo: WrapInfo; readonly auth?: AuthReply }
  /** An answer that was put away, exactly as it was. */
  | { readonly kind: "stored"; readonly answer: StoredAnswer }
  /** 202 without a body: what was asked for goes on by itself. */
  | { readonly kind: "accepted" }
  /** A body that is written already. */
  | { readonly kind: "text"; readonly status: number; readonly mediaType: string; readonly text: string }
  /** Not in the envelope. */
  | {
      readonly kind: "plain";
      readonly status: number;
      readonly body: Readonly<Record<string, unknown>>;
      /** Seconds that others may keep the answer; absent: none. */
      readonly maxAge?: number;
    };

/** A token that gives one answer once. */
export interface WrapInfo {
  /** A secret. */
  readonly token: string;
  readonly accessor: string;
  /** Seconds. */
  readonly ttl: number;
  /** ms. */
  readonly createdAt: number;
  readonly creationPath: string;
  /** Accessor of the token in the answer, "" when it holds none. */
  readonly wrappedAccessor: string;
}

/** The part of an answer that describes the lease of a secret. */
export interface LeaseReply {
  readonly id: string;
  readonly renewable: boolean;
  /** Seconds. */
  readonly duration: number;
}

/** The part of an answer that hands out or describes a grant. */
export interface AuthReply {
  /** A secret; "" where the endpoint does not give it. */
  readonly clientToken: string;
  readonly accessor: string;
  /** For the audit log; the answer does not have it. */
  readonly displayName: string;
  readonly tokenPolicies: readonly string[];
  /** Of the entity. Handlers leave them out; they are filled in on the way out. */
  readonly identityPolicies?: readonly string[];
  readonly metadata: Readonly<Record<string, string>> | null;
  /** Secrets that the answer has among the metadata. The token does not keep them, and the audit log only has their hashes. */
  readonly secretMetadata?: Readonly<Record<string, string>>;
  /** Seconds; 0: never expires. */
  readonly leaseDuration: number;
  readonly renewable: boolean;
  readonly entityId: string;
  readonly tokenType: "service" | "batch";
  readonly orphan: boolean;
  readonly numUses: number;
}

/** 204. */
export const EMPTY = { kind: "empty" } as const satisfies Reply;

/** 204 for what was done, or why it was not. */
export function doneReply(done: Result<unknown>): Result<Reply> {
  return done.ok ? ok(EMPTY) : done;
}

/** 200 with `data`. */
export function dataReply(data: Readonly<Record<string, unknown>>, warnings?: readonly string[]): Reply {
  return warnings ? { kind: "data", data, warnings } : { kind: "data", data };
}

/** 200 with `data`, whose keys stand beside the envelope's too. */
export function injectedReply(data: Readonly<Record<string, unknown>>): Reply {
  return { kind: "data", data, inject: true };
}

/** 200 with a body that has no envelope. @param maxAge seconds for which caches may keep it; 0: none. */
export function plainReply(body: Readonly<Record<string, unknown>>, maxAge = 0): Reply {
  return { kind: "plain", status: 200, body, ...(maxAge > 0 && { maxAge }) };
}

/** 200 with the names of a list; a list without names becomes a 404 on its way out. */
export function keysReply(keys: readonly string[]): Reply {
  return { kind: "data", data: { keys } };
}

const TIDY_STARTED =
  "Tidy operation successfully started. Any information from the operation will be printed to Vault's server logs.";
const TIDY_RUNNING = "Tidy operation already in progress.";

/** What every tidy endpoint answers: 202 when a run has begun, 200 when one was under way. Both warnings are the reference's. */
export function tidyReply(started: boolean): Reply {
  return { kind: "data", data: null, status: started ? 202 : 200, warnings: [started ? TIDY_STARTED : TIDY_RUNNING] };
}
