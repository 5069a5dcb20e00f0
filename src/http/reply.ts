/** The answer of a handler, before it is put on the wire. */
export type Reply =
  /** 204, or 200 with an empty envelope when there is something to warn about. */
  | { readonly kind: "empty"; readonly warnings?: readonly string[] }
  | {
      readonly kind: "data";
      readonly data: Readonly<Record<string, unknown>> | null;
      readonly warnings?: readonly string[];
      /** 200 unless set. */
      readonly status?: number;
      /** Repeats every key of data beside the envelope's, as some system paths do. */
      readonly inject?: boolean;
    }
  | { readonly kind: "auth"; readonly auth: AuthReply; readonly warnings?: readonly string[] }
  /** Not in the envelope. */
  | { readonly kind: "plain"; readonly status: number; readonly body: Readonly<Record<string, unknown>> };

/** The part of an answer that hands out or describes a grant. */
export interface AuthReply {
  /** A secret; "" where the endpoint does not give it. */
  readonly clientToken: string;
  readonly accessor: string;
  readonly tokenPolicies: readonly string[];
  readonly identityPolicies: readonly string[];
  readonly metadata: Readonly<Record<string, string>> | null;
  /** Seconds; 0: never expires. */
  readonly leaseDuration: number;
  readonly renewable: boolean;
  readonly entityId: string;
  readonly tokenType: "service" | "batch";
  readonly orphan: boolean;
  readonly numUses: number;
}

/** 204. */
export const EMPTY: Reply = { kind: "empty" };

/** 200 with `data`. */
export function dataReply(data: Readonly<Record<string, unknown>>, warnings?: readonly string[]): Reply {
  return warnings ? { kind: "data", data, warnings } : { kind: "data", data };
}

/** 200 with the names of a list; a list without names becomes a 404 on its way out. */
export function keysReply(keys: readonly string[]): Reply {
  return { kind: "data", data: { keys } };
}
