import type { CallContext } from "../../auth/route.ts";
import { currentTime, formatRfc3339, formatTime } from "../../base/clock.ts";
import { aclOfToken } from "../../identity/standing.ts";
import type { Operation } from "../../policy/acl.ts";
import { evaluateAcl } from "../../policy/evaluate.ts";
import { canonicalPathOf } from "../../team/canonical-path.ts";
import type { Author, ListedToken, OrganizationRecord, TeamRecord, TeamToken } from "../../team/record.ts";
import { manages, ORGANIZATION_ACCESS } from "../../team/rules/organization-access.ts";
import { allSettings } from "../../team/rules/organization-settings.ts";
import { fieldsOf, inner, type ViewFields, view } from "../../wire/view.ts";

/** What another resource is known by. */
type Reference = { readonly id: string; readonly type: string };

/** A relationship to one other resource. */
export function reference<T>(of: (thing: T) => Reference): ViewFields<T>[string] {
  return [{ data: { id: "string", type: "string" } }, (thing) => ({ data: of(thing) })];
}

/** A token, with its text, a secret: null wherever it is not just generated. */
interface ShownToken extends ListedToken {
  readonly text: string | null;
}

const TOKEN_FIELDS: ViewFields<ShownToken> = {
  id: ["string", ({ token }) => token.tokenId],
  type: ["string", () => "authentication-tokens"],
  attributes: inner({
    "team-name": ["string", ({ team }) => team.name],
    "created-at": ["string", ({ token }) => formatRfc3339(token.createdAt)],
    "last-used-at": ["string | null", ({ token }) => formatTime(token.lastUsedAt)],
    "expired-at": ["string | null", ({ token }) => token.expiredAt],
    description: ["string | null", ({ token }) => token.description ?? null],
    "rotated-at?": ["string", ({ token }) => formatTime(token.rotatedAt ?? null) ?? undefined],
    "rotated-to?": ["string", ({ token }) => token.rotatedTo],
    token: ["string | null", ({ text }) => text],
  }),
  relationships: inner({
    team: reference(({ team }) => ({ id: team.teamId, type: "teams" })),
    "created-by": reference(({ token: { createdBy } }) => ({ id: createdBy.id, type: createdBy.type })),
  }),
};

/** A token as its own document shows it. */
export const TOKEN_VIEW = view(TOKEN_FIELDS);

/**
 * A token as the list of an organization shows it. The interface calls it a `team-tokens` there. Clients in Go refuse a
 * list of anything but `authentication-tokens`; they match the names of members without regard to case and take the last,
 * so they read `Type`, which every other client ignores as a member that JSON:API does not know.
 */
export const LISTED_TOKEN_VIEW = view<ListedToken>({
  ...fieldsOf((listed) => ({ ...listed, text: null }), TOKEN_FIELDS),
  type: ["string", () => "team-tokens"],
  Type: ["string", () => "authentication-tokens"],
});

/** What the caller may do. */
type Permissions = Readonly<Record<string, boolean>>;

/** A team, with what the caller may do with it. */
export const TEAM_VIEW = view<{ readonly team: TeamRecord; readonly permissions: Permissions }>({
  id: ["string", ({ team }) => team.teamId],
  type: ["string", () => "teams"],
  attributes: inner({
    name: ["string", ({ team }) => team.name],
    visibility: ["string", ({ team }) => team.visibility],
    "sso-team-id": ["string | null", ({ team }) => team.ssoTeamId],
    "allow-member-token-management": ["boolean", ({ team }) => team.allowMemberTokenManagement],
    "organization-access": [{ "*": "boolean" }, ({ team }) => ({ ...ORGANIZATION_ACCESS, ...team.organizationAccess })],
    "token-policies": [["string"], ({ team }) => team.tokenPolicies],
    "is-unified": ["boolean", () => false],
    "users-count": ["integer", () => 0],
    "created-at": ["string", ({ team }) => formatRfc3339(team.createdAt)],
    permissions: [{ "*": "boolean" }, ({ permissions }) => permissions],
  }),
  relationships: inner({
    organization: reference(({ team }) => ({ id: team.organization, type: "organizations" })),
    users: ["object", () => ({ data: [] })],
    "organization-memberships": ["object", () => ({ data: [] })],
    "authentication-token": ["object", () => ({ meta: {} })],
  }),
  links: inner({ self: ["string", ({ team }) => `/api/v2/teams/${team.teamId}`] }),
});

/** An organization, with what the caller may do with it. */
interface ShownOrganization {
  readonly organization: OrganizationRecord;
  readonly permissions: Permissions;
}

/** An organization. Its id is its name. */
export const ORGANIZATION_VIEW = view<ShownOrganization>({
  id: ["string", ({ organization }) => organization.name],
  type: ["string", () => "organizations"],
  attributes: [
    {
      name: "string",
      "external-id": "string",
      email: "string",
      "created-at": "string",
      permissions: { "*": "boolean" },
      "*": "any",
    },
    ({ organization, permissions }) => ({
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
    }),
  ],
  links: inner({ self: ["string", ({ organization }) => `/api/v2/organizations/${organization.name}`] }),
});

/** The user that stands for the holder of a token: an ordinary one, or a team with the token that it uses. */
interface ShownUser {
  readonly user: Pick<Author, "id" | "name">;
  readonly service: { readonly team: TeamRecord; readonly token: TeamToken } | null;
}

/** A user. */
export const USER_VIEW = view<ShownUser>({
  id: ["string", ({ user }) => user.id],
  type: ["string", () => "users"],
  attributes: inner({
    username: ["string", ({ user }) => user.name],
    "is-service-account": ["boolean", ({ service }) => service !== null],
    email: ["string | null", () => null],
  }),
  "relationships?": ["object", ({ service }) => service?.team && { "authenticated-resource": teamLink(service.team) }],
  links: inner({
    self: ["string", ({ user }) => `/api/v2/users/${user.id}`],
    "auth-token?": [
      "string",
      ({ service }) => service?.token && `/api/v2/authentication-tokens/${service.token.tokenId}`,
    ],
  }),
});

function teamLink({ teamId }: TeamRecord): Record<string, unknown> {
  return { data: { id: teamId, type: "teams" }, links: { related: `/api/v2/teams/${teamId}` } };
}

/** What a caller's policies allow. */
export type May = (operation: Operation, path: string, alternatePath?: string) => boolean;

/** Evaluates the policies of the caller, for answers that show what it may do. */
export async function mayOf({ env, installation, caller }: CallContext): Promise<May> {
  const acl = await aclOfToken(env, installation, caller.record);
  const now = currentTime();
  return (operation, path, alternatePath) => {
    const access = { operation, path, ...(alternatePath !== undefined && { alternatePath }) };
    if (!acl.ok) return false;
    return (caller.kind === "team" && manages(caller.team, access)) || evaluateAcl(acl.value, access, now).allowed;
  };
}

/** What a caller may do with a team. Its members can't be changed: it has none. */
export function teamPermissions(may: May, team: TeamRecord): Permissions {
  const canDestroy = !team.owners && may("delete", `teams/${team.teamId}`, canonicalPathOf(team, ""));
  return { "can-update-membership": false, "can-destroy": canDestroy };
}

/** What a caller may do with an organization. */
export function organizationPermissions(may: May, organization: OrganizationRecord): Permissions {
  const path = `organizations/${organization.name}`;
  return {
    "can-traverse": may("read", path),
    "can-update": may("patch", path),
    "can-destroy": may("delete", path),
    "can-create-team": may("update", `${path}/teams`),
  };
}
