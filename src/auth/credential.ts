import type { Ms } from "../base/clock.ts";
import type { Keys } from "../crypto/key-ring.ts";
import type { Env } from "../env.ts";
import type { AccessRequest, Verdict } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";
import type { TokenRecord } from "../token/record.ts";

/** How the credentials of a registered kind are read: neither service tokens nor batch tokens. */
export interface CredentialFormat {
  /** True for a text in its format, which no other kind has. Called only for texts without the prefix of a token. */
  matches(text: string): boolean;
  /** Finds texts in its format within a longer text; global. */
  readonly within: RegExp;
  /** Matches a text in its format, and a piece that may be cut out of one. */
  readonly part: RegExp;
  /** Reads a text in its format; null for one that this installation did not issue. Calls no object. */
  read(keys: Keys, text: string): Promise<RegisteredToken | null>;
}

/** A parsed credential of a registered kind. */
export interface RegisteredToken {
  readonly kind: "registered";
  /** The name of its kind in look-ups, audit lines and refusals. */
  readonly type: string;
  readonly text: string;
  /** Returns the owner as names and values, also of a credential that is not valid any more; null when unknown. */
  owner?(env: Env): Promise<Readonly<Record<string, string>> | null>;
  /** Returns what is recorded of a credential that is not valid any more; null when nothing is. */
  ended?(env: Env): Promise<EndedCredential | null>;
  /**
   * Returns its holder; null when it is not valid now. `callerOf` compares its creation time with the watermarks.
   *
   * @param purpose "use" updates the time of its last use.
   */
  authenticate(env: Env, purpose: "use" | "look-up"): Promise<RegisteredCaller | null>;
}

/** What its maker said of a credential of a registered kind. */
export interface CredentialOrigin {
  /** "" without one. */
  readonly description: string;
  /** The display name of the caller that made it; "" without one. */
  readonly madeBy: string;
}

/** A credential of a registered kind that ended. */
export interface EndedCredential extends CredentialOrigin {
  /** Its public id. */
  readonly accessor: string;
  readonly createdAt: Ms;
  readonly expiresAt: Ms | null;
  /** A past participle: `deleted`. */
  readonly how: string;
  readonly at: Ms;
  /** The display name of the caller that ended it; "" without one, or when it is not recorded. */
  readonly by: string;
}

/** The holder of a credential of a registered kind. */
export interface RegisteredCaller {
  readonly kind: "registered";
  readonly type: string;
  /** With its policies, and what look-ups and audit lines show. */
  readonly record: TokenRecord;
  /** The public id of the credential. */
  readonly accessor: string;
  /** `expiresAt` null: never. */
  readonly token: { readonly expiresAt: Ms | null };
  readonly origin?: CredentialOrigin;
  /** A sentence for explanations: its rights besides its policies. */
  readonly ownRights: string;
  /** Returns the verdict on a request that the credential may make by rights of its own; null: the policies decide. */
  ownVerdict(installation: Installation, access: AccessRequest, now: Ms): Verdict | null;
}
