import { formatRfc3339 } from "../../base/rfc3339.ts";
import type { Author, ListedToken, OrganizationRecord, TeamRecord, TeamToken } from "../../team/record.ts";
import { ORGANIZATION_ACCESS } from "../../team/rules/organization-access.ts";
import { allSettings } from "../../team/rules/organization-settings.ts";
import type { Shape } from "../../wire/shape.ts";

/** A resource of a JSON:API document. */
export type ResourceObject = Record<string, unknown>;

/** A token as its own document shows it. `text` is the secret, null wherever it is not just generated. */
export function tokenResource({ team, token }: ListedToken, text: string | null): ResourceObject {
  return {
    id: token.tokenId,
    type: "authentication-tokens",
    attributes: {
      "team-name": team.name,
      "created-at": formatRfc3339(token.createdAt),
      "last-used-at": token.lastUsedAt === null ? null : formatRfc3339(token.lastUsedAt),
      "expired-at": token.expiredAt,
      description: token.description ?? null,
      ...(token.rotatedAt !== undefined && {
        "rotated-at": formatRfc3339(token.rotatedAt),
        "rotated-to": token.rotatedTo,
      }),
      token: text,
    },
    relationships: {
      team: { data: { id: team.teamId, type: "teams" } },
      "created-by": { data: { id: token.createdBy.id, type: token.createdBy.type } },
    },
  };
}

/**
 * A token as the list of an organization shows it. The interface calls it a `team-tokens` there. Clients in Go refuse a
 * list of anything but `authentication-tokens`; they match the names of members without regard to case and take the last,
 * so they read `Type`, which every other client ignores as a member that JSON:API does not know.
 */
export function listedTokenResource(listed: ListedToken): ResourceObject {
  const { type, ...rest } = tokenResource(listed, null);
  return { ...rest, type: "team-tokens", Type: type };
}

/** A team. */
export function teamResource(team: TeamRecord, permissions: Readonly<Record<string, boolean>>): ResourceObject {
  return {
    id: team.teamId,
    type: "teams",
    attributes: {
      name: team.name,
      visibility: team.visibility,
      "sso-team-id": team.ssoTeamId,
      "allow-member-token-management": team.allowMemberTokenManagement,
      "organization-access": { ...ORGANIZATION_ACCESS, ...team.organizationAccess },
      "token-policies": team.tokenPolicies,
      "is-unified": false,
      "users-count": 0,
      "created-at": formatRfc3339(team.createdAt),
      permissions,
    },
    relationships: {
      organization: { data: { id: team.organization, type: "organizations" } },
      users: { data: [] },
      "organization-memberships": { data: [] },
      "authentication-token": { meta: {} },
    },
    links: { self: `/api/v2/teams/${team.teamId}` },
  };
}

/** An organization. Its id is its name. */
export function organizationResource(
  organization: OrganizationRecord,
  permissions: Readonly<Record<string, boolean>>,
): ResourceObject {
  return {
    id: organization.name,
    type: "organizations",
    attributes: {
      name: organization.name,
      "external-id": organization.organizationId,
      email: organization.email,
      "created-at": formatRfc3339(organization.createdAt),
      ...allSettings(organization.settings),
      "is-unified": false,
      "saml-enabled": false,
      "two-factor-conformant": false,
      "trial-expires-at": null,
      "remaining-testable-count": 0,
      permissions,
    },
    links: { self: `/api/v2/organizations/${organization.name}` },
  };
}

/** The holder of an ordinary token. */
export function userResource(user: Author): ResourceObject {
  return {
    id: user.id,
    type: "users",
    attributes: { username: user.name, "is-service-account": false, email: null },
    links: { self: `/api/v2/users/${user.id}` },
  };
}

/** The user that stands for a team when it uses its token. */
export function serviceUserResource(userId: string, team: TeamRecord, token: TeamToken): ResourceObject {
  return {
    id: userId,
    type: "users",
    attributes: { username: `api-team_${team.name}`, "is-service-account": true, email: null },
    relationships: {
      "authenticated-resource": {
        data: { id: team.teamId, type: "teams" },
        links: { related: `/api/v2/teams/${team.teamId}` },
      },
    },
    links: { self: `/api/v2/users/${userId}`, "auth-token": `/api/v2/authentication-tokens/${token.tokenId}` },
  };
}

const REFERENCE = { data: { id: "string", type: "string" } } as const;

/** The shape of a token. */
export const TOKEN_SHAPE = {
  id: "string",
  type: "string",
  attributes: {
    "team-name": "string",
    "created-at": "string",
    "last-used-at": "string | null",
    "expired-at": "string | null",
    description: "string | null",
    "rotated-at?": "string",
    "rotated-to?": "string",
    token: "string | null",
  },
  relationships: { team: REFERENCE, "created-by": REFERENCE },
} as const satisfies Shape;

/** The shape of a token in a list. */
export const LISTED_TOKEN_SHAPE = { ...TOKEN_SHAPE, Type: "string" } as const satisfies Shape;

/** The shape of a team. */
export const TEAM_SHAPE = {
  id: "string",
  type: "string",
  attributes: {
    name: "string",
    visibility: "string",
    "sso-team-id": "string | null",
    "allow-member-token-management": "boolean",
    "organization-access": { "*": "boolean" },
    "token-policies": ["string"],
    "is-unified": "boolean",
    "users-count": "integer",
    "created-at": "string",
    permissions: { "*": "boolean" },
  },
  relationships: { organization: REFERENCE, "*": "object" },
  links: { self: "string" },
} as const satisfies Shape;

/** The shape of an organization. */
export const ORGANIZATION_SHAPE = {
  id: "string",
  type: "string",
  attributes: {
    name: "string",
    "external-id": "string",
    email: "string",
    "created-at": "string",
    permissions: { "*": "boolean" },
    "*": "any",
  },
  links: { self: "string" },
} as const satisfies Shape;

/** The shape of a user. */
export const USER_SHAPE = {
  id: "string",
  type: "string",
  attributes: { username: "string", "is-service-account": "boolean", email: "string | null" },
  "relationships?": "object",
  links: { self: "string", "auth-token?": "string" },
} as const satisfies Shape;
