/** What a call to the API came to. */
export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

/** Why a call failed, in the words of the server. */
export interface Problem {
  /** 0 when no answer came. */
  readonly status: number;
  readonly messages: readonly string[];
  /** As in the audit log; "" when the server did not say. */
  readonly requestId: string;
}

export const done = <T>(value: T): Answer<T> => ({ ok: true, value });
export const failed = (problem: Problem): Answer<never> => ({ ok: false, problem });
