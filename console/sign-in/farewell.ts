import { relative } from "../format.ts";

/** What the sign-in page says of the session before. */
export interface Farewell {
  readonly tone: "good" | "plain" | "warn";
  readonly text: string;
}

/** The token that was signed out. */
interface SignedOut {
  /** Its end (ms); null: never. */
  readonly ends: number | null;
  readonly isRevoked: boolean;
  /** Why the revocation failed; empty when none was asked for. */
  readonly messages: readonly string[];
}

/** What became of the token of a sign-out. */
export function signedOut({ ends, isRevoked, messages }: SignedOut, now: number): Farewell {
  if (isRevoked) return { tone: "good", text: "You are signed out, and the token is revoked." };
  const when = ends === null ? "never ends" : `ends ${relative(new Date(ends).toISOString(), now)}`;
  if (messages.length === 0) return { tone: "plain", text: `You are signed out. The token stays valid: it ${when}.` };
  const text = `You are signed out, but your token could not be revoked and ${when}. ${messages.join(" ")}`;
  return { tone: "warn", text };
}

/** The notice about the previous session. After a failed sign-in only a warning stays: another would contradict it. */
export const farewellAfter = (before: Farewell | null, hasFailed: boolean): Farewell | null =>
  hasFailed && before?.tone !== "warn" ? null : before;
