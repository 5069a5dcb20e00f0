import { type Answer, done, failed } from "../result.ts";

/** The token of a sign-in. */
export interface GivenToken {
  readonly token: string;
  /** True for a token that the sign-in created: no other client has it. */
  readonly isOwn: boolean;
}

/** An unwrapped answer. */
interface WrappedAnswer {
  readonly auth?: { readonly client_token: string } | null;
  readonly data?: { readonly token?: unknown } | null;
}

/**
 * The token in an unwrapped answer. A token in `auth` was created for the client that unwraps it. A token in `data` was
 * wrapped as a text, and the client that wrapped it still has it.
 */
export function unwrappedToken({ auth, data }: WrappedAnswer): Answer<GivenToken> {
  if (auth?.client_token) return done({ token: auth.client_token, isOwn: true });
  const inner = data?.token;
  if (typeof inner === "string" && inner !== "") return done({ token: inner, isOwn: false });
  return failed({ status: 0, messages: ["What was wrapped is no token. It is used up now."], requestId: "" });
}
