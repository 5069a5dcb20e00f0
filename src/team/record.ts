import type { Ms } from "../base/clock.ts";
import type { OrganizationSettings } from "./rules/organization-settings.ts";

/** The kinds of tokens that clients set a maximum lifetime for. Here users have no tokens. */
export const TOKEN_KINDS = ["organization", "team", "user", "audit_trails"] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** The kinds of tokens of an organization itself. It has one of each. */
export type OrganizationTokenKind = Extract<TokenKind, "organization" | "audit_trails">;

export interface Author {
  readonly type: "users" | "teams" | "organizations";
  readonly id: string;
  /** Display name; tokens are sorted by it. */
  readonly name: string;
}

export interface TeamSettings {
  readonly name: string;
  readonly visibility: "secret" | "organization";
  readonly ssoTeamId: string | null;
  readonly allowMemberTokenManagement: boolean;
  /** Stored for clients that manage it; it has no effect here. */
  readonly organizationAccess: Readonly<Record<string, boolean>>;
  /** Policies of the team's tokens, normalised. Without any, a token may only read itself and its team. */
  readonly tokenPolicies: readonly string[];
}

export interface TeamRecord extends TeamSettings {
  readonly teamId: string;
  readonly organization: string;
  /** Distinguishes the organization from an earlier one with the same name. */
  readonly organizationId: string;
  readonly createdAt: Ms;
  /** True for the team that manages the organization, except where a policy denies it. */
  readonly owners?: true;
  /** Only for the holder, which is no team and has the organization's own tokens. */
  readonly holder?: { readonly ownersTeamId: string };
}

/** A token of a team or of an organization, without its secret. */
export interface TeamToken {
  readonly tokenId: string;
  /** Absent: a token of a team. */
  readonly kind?: OrganizationTokenKind;
  /** Unique in the team; null for the one token without a description. */
  readonly description: string | null;
  readonly createdAt: Ms;
  readonly createdBy: Author;
  /** null: never. */
  readonly expiresAt: Ms | null;
  /** `expiresAt` as the client wrote it. */
  readonly expiredAt: string | null;
  /** Exact to a minute; null before the first use. */
  readonly lastUsedAt: Ms | null;
  /** When the token was replaced by a rotation, and the id of the new token. */
  readonly rotatedAt?: Ms;
  readonly rotatedTo?: string;
}

/** How a token ended, and by whom; null: by its time, or not recorded. */
export interface TeamTokenEnd {
  readonly how: "deleted" | "replaced" | "rotated" | "expired";
  readonly at: Ms;
  readonly by: Author | null;
}

/** A token that ended, as long as it is recorded. */
export interface EndedTeamToken extends TeamWithToken {
  readonly end: TeamTokenEnd;
}

/** A new token to store. The verifier is a hash of its text, which is not stored. */
export interface NewTeamTokenRecord extends TeamToken {
  readonly verifier: Uint8Array;
}

export interface Rotation {
  readonly token: NewTeamTokenRecord;
  /** How long the old token stays valid. */
  readonly overlapMs: Ms;
  /** The sealed text of the new token, for a repeat of the request; null if it can't be repeated. */
  readonly replay: Uint8Array | null;
}

export interface TeamWithToken {
  readonly team: TeamRecord;
  readonly token: TeamToken;
}

/** A token in the list of an organization. */
export interface ListedTeamToken {
  readonly team: Pick<TeamRecord, "name" | "teamId" | "holder">;
  readonly token: TeamToken;
}

/** The state of a team that it sends to its organization. */
export interface TeamState {
  readonly team: TeamRecord;
  /** Tokens that have changed since the organization was last updated; null for a deleted token. */
  readonly tokens: readonly { readonly tokenId: string; readonly token: TeamToken | null }[];
  /** Number of changes of the team. */
  readonly revision: number;
  /** True after the deletion of the team. */
  readonly ended: boolean;
  /** True until the organization has registered the team. Then `tokens` has all tokens. */
  readonly unregistered: boolean;
}

/** The answer of an organization to the state of a team. */
export type Applied =
  | { readonly kind: "applied" }
  /** Another team has the name. `name` is the registered name of this team; null for none. */
  | { readonly kind: "name_taken"; readonly name: string | null }
  /** The team is not registered, and the state is not complete. */
  | { readonly kind: "unknown_team" }
  | { readonly kind: "no_organization" };

export interface OrganizationRecord {
  readonly name: string;
  readonly organizationId: string;
  readonly email: string;
  readonly createdAt: Ms;
  /** Settings that differ from the defaults. */
  readonly settings?: OrganizationSettings;
  readonly maxTtls?: Readonly<Partial<Record<TokenKind, Ms>>>;
  /** The owners team; absent until it has an id. */
  readonly ownersTeamId?: string;
  /** The holder of the organization's tokens; absent until there is one. */
  readonly holderId?: string;
}

export interface OrganizationChange extends Pick<OrganizationRecord, "settings" | "maxTtls"> {
  readonly email?: string | undefined;
}
