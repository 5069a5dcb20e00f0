import type { Ms } from "../base/clock.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import type { Mount } from "../system/mount.ts";

/** The form of a signed JWT: two objects of JSON in base64url, which may begin with white space, and a signature. */
export const JWT_FORM = /^e[wy][\w-]+\.e[wy][\w-]+\.[\w-]+$/;

/** A text that may have leaked, and the mount whose logins it may be for. */
export interface LeakedText {
  readonly env: Env;
  readonly installation: Pick<Installation, "keys">;
  readonly mount: Mount;
  readonly text: string;
}

/** A secret that this installation gave to a client, by which it logs in. */
export interface LoginSecret {
  readonly kind: "secret-id";
  readonly role: string;
  /** Names it to operators. It is no secret. */
  readonly accessor: string;
  readonly createdAt: Ms;
  /** null: never. */
  readonly expiresAt: Ms | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Networks that may log in with it, all of the lists at once; an empty list excludes none. */
  readonly networks: readonly (readonly string[])[];
}

/** The id of a role, by which clients log in. It is no secret unless it is all that a login needs. */
export interface LoginRoleId {
  readonly kind: "role-id";
  readonly role: string;
  /** False when the text alone logs in. */
  readonly needsSecret: boolean;
  /** As in `LoginSecret`. */
  readonly networks: readonly (readonly string[])[];
}

/** A token of another issuer that the mount may accept. Nothing was verified. */
export interface TrustedJwt {
  readonly kind: "jwt";
  /** "" when it names none. */
  readonly issuer: string;
  /** "" when it names none. */
  readonly subject: string;
  readonly audiences: readonly string[];
  /** null: it does not say. */
  readonly expiresAt: Ms | null;
  /** Until when a role of the mount may accept it; null: without an end. */
  readonly acceptedUntil: Ms | null;
  /** Names of aliases that its logins would have, by the roles of the mount; at most `MAX_ALIASES`. */
  readonly aliases: readonly string[];
  /** The roles of the mount that take its claims now; null when an object of the last release can't tell. */
  readonly roles: TakingRoles | null;
}

/** Maximum number of aliases of one text at a mount: its roles can take the name from different claims. */
const MAX_ALIASES = 5;

/** The names of aliases that are answered, of those by all roles of a mount. */
export function distinctAliases(names: readonly string[]): readonly string[] {
  return [...new Set(names)].slice(0, MAX_ALIASES);
}

/** What the object of a mount says of unverified claims. */
export interface JudgedClaims {
  readonly roles: TakingRoles;
  /** How long after its end a role takes a token. */
  readonly latenessMs: Ms;
  /** As in `TrustedJwt`; absent from an object of the last release. */
  readonly aliases?: readonly string[];
}

/** Names of the first roles, in order, and whether there are more. */
export interface TakingRoles {
  readonly names: readonly string[];
  readonly more: boolean;
}

/** A document of an instance of a cloud, by which it logs in. Nothing was verified. */
export interface InstanceDocument {
  readonly kind: "identity-document";
  readonly instance: string;
  readonly account: string;
  readonly region: string;
  /** True when the text contains the signature of the document. Otherwise a login needs a second text with it. */
  readonly isSigned: boolean;
}

/** Not all that could know the text was asked. */
export interface NotAsked {
  readonly kind: "not asked";
  /** What answers the question, below `/v1/`. */
  readonly ask: string;
  /** True for a mount that was not asked at all, or did not answer. */
  readonly isWhole?: true;
}

/** What a mount knows of a text that clients log in with. */
export type LoginText = LoginSecret | LoginRoleId | TrustedJwt | InstanceDocument | NotAsked;
