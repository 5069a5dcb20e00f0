/** The result of a call to the API. */
export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

/** Why a call failed, in the words of the server. */
export interface Problem {
  /** 0 when no answer came. */
  readonly status: number;
  readonly messages: readonly string[];
  /** The id of the request in the audit log; "" when the server did not send one. */
  readonly requestId: string;
  /** Asks why the policies refused the call; null when they did not, or when the token may not ask. */
  readonly explain?: () => Promise<Refusal | null>;
}

/** Why the policies refuse a request, as `sys/explain/access-self` answers it. */
export interface Refusal {
  readonly allowed: boolean;
  readonly message: string;
  readonly operation: string;
  readonly path: string;
  /** A policy that would allow the request; null when no additional policy can. */
  readonly hcl: string | null;
}

export const done = <T>(value: T): Answer<T> => ({ ok: true, value });
export const failed = (problem: Problem): Answer<never> => ({ ok: false, problem });
/** A call that was not made. */
export const notSent = (message: string): Answer<never> => failed({ status: 400, messages: [message], requestId: "" });
