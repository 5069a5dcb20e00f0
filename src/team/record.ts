import type { CheckedRows } from "../storage/row-seals.ts";
import type { OrganizationSettings } from "./rules/organization-settings.ts";

/** The kinds of tokens that clients set a greatest lifetime for. There are only those of teams here. */
export const TOKEN_KINDS = ["organization", "team", "user", "audit_trails"] as const;

/** One of the kinds. */
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** Who made a token. */
export interface Author {
  readonly type: "users" | "teams";
  readonly id: string;
  /** Display name; tokens are sorted by it. */
  readonly name: string;
}

/** What can be said and changed about a team. */
export interface TeamSettings {
  readonly name: string;
  readonly visibility: "secret" | "organization";
  readonly ssoTeamId: string | null;
  readonly allowMemberTokenManagement: boolean;
  /** Kept for clients that manage it; nothing here depends on it. */
  readonly organizationAccess: Readonly<Record<string, boolean>>;
  /** Policies of the team's token, normalised. Empty: it may only look at itself and its team. */
  readonly tokenPolicies: readonly string[];
}

/** A team. Times in ms since 1970. */
export interface TeamRecord extends TeamSettings {
  readonly teamId: string;
  /** Name of the organization. */
  readonly organization: string;
  /** Distinguishes the organization from an earlier one of the same name. */
  readonly organizationId: string;
  readonly createdAt: number;
  /** True for the team that manages the organization, in whatever a policy does not deny it. */
  readonly owners?: true;
}

/** A token of a team without anything secret. Times in ms since 1970. */
export interface TeamToken {
  readonly tokenId: string;
  /** Unique in the team; null for the one token without a description. */
  readonly description: string | null;
  readonly createdAt: number;
  readonly createdBy: Author;
  /** null: never. */
  readonly expiresAt: number | null;
  /** `expiresAt` as the client wrote it. */
  readonly expiredAt: string | null;
  /** Right to a minute; null: not used yet. */
  readonly lastUsedAt: number | null;
  /** When another token took over from this one, and that token's id; absent while none has. */
  readonly rotatedAt?: number;
  readonly rotatedTo?: string;
}

/** A team token about to be stored: `verifier` is the only trace of its text. */
export interface NewTeamTokenRecord extends TeamToken {
  readonly verifier: Uint8Array;
}

/** A rotation: the token that takes over, and until when the other is good besides. */
export interface Rotation {
  readonly token: NewTeamTokenRecord;
  /** ms. */
  readonly overlapMs: number;
  /** The text of the new token, sealed for a repeat of the same request; null: it can't be repeated. */
  readonly replay: Uint8Array | null;
}

/** What came of a rotation. `replay` is not null when it was done before: then it is what was sealed at that time. */
export interface Rotated extends TeamWithToken {
  readonly replay: Uint8Array | null;
}

/** A team with one of its tokens. */
export interface TeamWithToken {
  readonly team: TeamRecord;
  readonly token: TeamToken;
}

/** A token as an organization lists it. */
export interface ListedToken {
  readonly team: Pick<TeamRecord, "name" | "teamId">;
  readonly token: TeamToken;
}

/** The state of a team that its organization is notified of, as of one revision. */
export interface TeamState {
  readonly team: TeamRecord;
  /** Tokens that have changed since the last revision that the organization knows; null for a deleted one. */
  readonly tokens: readonly { readonly tokenId: string; readonly token: TeamToken | null }[];
  /** Counts the changes of the team. */
  readonly revision: number;
  /** True from the moment the team is deleted. */
  readonly ended: boolean;
  /** True until the organization has taken the team in: then `tokens` are all that there are. */
  readonly unregistered: boolean;
}

/** A team as its organization compares it with what it knows. */
export interface ComparedTeam extends CheckedRows {
  /** The one that the organization should know; null when there is no such team of it. */
  readonly revision: number | null | "tampered";
}

/** What an organization makes of a team's state. */
export type Applied =
  | { readonly kind: "applied" }
  /** Another team has the name; `name` is the one that the organization knows this team by, null for none. */
  | { readonly kind: "name_taken"; readonly name: string | null }
  /** The team is not in the organization: it has to be taken in first. */
  | { readonly kind: "unknown_team" }
  /** The organization does not exist any more. */
  | { readonly kind: "no_organization" };

/** An organization. Times in ms since 1970. */
export interface OrganizationRecord {
  readonly name: string;
  readonly organizationId: string;
  readonly email: string;
  readonly createdAt: number;
  /** Those that were given a value. */
  readonly settings?: OrganizationSettings;
  /** Greatest lifetimes of tokens in ms, by kind, as far as they were set. */
  readonly maxTtls?: Readonly<Partial<Record<TokenKind, number>>>;
  /** The team of the owners; absent until it has an id. */
  readonly ownersTeamId?: string;
}

/** What can be changed about an organization. */
export interface OrganizationChange {
  readonly email?: string | undefined;
  readonly settings?: OrganizationSettings;
  readonly maxTtls?: OrganizationRecord["maxTtls"];
}

/** Some organizations, and the row to go on after; null at the end. */
export interface OrganizationPage {
  readonly items: readonly OrganizationRecord[];
  readonly next: number | null;
}

/** A page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Of all pages together. */
  readonly total: number;
}

/** Which part of a list is asked for. */
export interface PageRequest {
  /** From 1. */
  readonly number: number;
  readonly size: number;
}
