import { type Answer, done, failed } from "../result.ts";

/** The token of a sign-in. */
export interface GivenToken {
  readonly token: string;
  /** True when the sign-in made the token, so that nobody else has it. */
  readonly isOwn: boolean;
}

/** An answer as it was wrapped. */
interface WrappedAnswer {
  readonly auth?: { readonly client_token: string } | null;
  readonly data?: { readonly token?: unknown } | null;
}

/**
 * The token in an unwrapped answer. One in `auth` was made for whoever unwraps it; one in `data` is a text that
 * somebody wrapped, who still has it.
 */
export function unwrappedToken({ auth, data }: WrappedAnswer): Answer<GivenToken> {
  if (auth?.client_token) return done({ token: auth.client_token, isOwn: true });
  const inner = data?.token;
  if (typeof inner === "string" && inner !== "") return done({ token: inner, isOwn: false });
  return failed({ status: 0, messages: ["What was wrapped is no token. It is used up now."], requestId: "" });
}
