import type { CallContext } from "../../auth/route.ts";
import { currentTime, formatRfc3339, formatTime } from "../../base/clock.ts";
import { aclOfToken } from "../../identity/entity-copies.ts";
import { evaluateAcl } from "../../policy/evaluate.ts";
import type { Operation } from "../../policy/operation.ts";
import type { Author, ListedTeamToken, OrganizationRecord, TeamRecord, TeamWithToken } from "../../team/record.ts";
import { allSettings } from "../../team/rules/organization-settings.ts";
import { ORGANIZATION_ACCESS } from "../../team/rules/team-settings.ts";
import { canonicalPathOf } from "../../team/stubs.ts";
import { fieldsOf, inner, type ViewFields, view } from "../../wire/view.ts";
import { isOfTeam } from "./credential.ts";

interface Identifier {
  readonly id: string;
  readonly type: string;
}

/** A relationship to one other resource, or to none where the field is optional. */
export function reference<T>(of: (thing: T) => Identifier | undefined): ViewFields<T>[string] {
  return [
    { data: { id: "string", type: "string" } },
    (thing) => {
      const data = of(thing);
      return data && { data };
    },
  ];
}

/** A token with its text, which is secret and null except in the answer to its creation. */
interface ShownToken extends ListedTeamToken {
  readonly text: string | null;
}

const ofTeam = ({ team }: ShownToken) => (team.holder ? undefined : team);

const TOKEN_ATTRIBUTES: ViewFields<ShownToken> = {
  "team-name?": ["string", (shown) => ofTeam(shown)?.name],
  "created-at": ["string", ({ token }) => formatRfc3339(token.createdAt)],
  "last-used-at": ["string | null", ({ token }) => formatTime(token.lastUsedAt)],
  "expired-at": ["string | null", ({ token }) => token.expiredAt],
  description: ["string | null", ({ token }) => token.description ?? null],
  "rotated-at?": ["string", ({ token }) => formatTime(token.rotatedAt ?? null) ?? undefined],
  "rotated-to?": ["string", ({ token }) => token.rotatedTo],
  token: ["string | null", ({ text }) => text],
};

const TOKEN_FIELDS: ViewFields<ShownToken> = {
  id: ["string", ({ token }) => token.tokenId],
  type: ["string", () => "authentication-tokens"],
  attributes: inner(TOKEN_ATTRIBUTES),
  relationships: inner({
    "team?": reference((shown) => {
      const team = ofTeam(shown);
      return team && { id: team.teamId, type: "teams" };
    }),
    "created-by": reference(({ token: { createdBy } }) => ({ id: createdBy.id, type: createdBy.type })),
  }),
};

/** A token in a document of its own. */
export const TOKEN_VIEW = view(TOKEN_FIELDS);

/**
 * A token in the list of an organization, where its type is `team-tokens`. Clients in Go accept only `authentication-tokens`
 * there. They ignore the case of member names and use the last one, so they read `Type`. Other clients ignore `Type`, which
 * is no member of JSON:API.
 */
export const LISTED_TOKEN_VIEW = view<ListedTeamToken>({
  ...fieldsOf((listed) => ({ ...listed, text: null }), {
    ...TOKEN_FIELDS,
    // The relationship has only an id, which people don't know.
    attributes: inner<ShownToken>({
      ...TOKEN_ATTRIBUTES,
      "created-by-name?": ["string", ({ token }) => token.createdBy.name || undefined],
    }),
  }),
  type: ["string", () => "team-tokens"],
  Type: ["string", () => "authentication-tokens"],
});

type Permissions = Readonly<Record<string, boolean>>;

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

/** An organization. Its id is its name. */
export const ORGANIZATION_VIEW = view<{
  readonly organization: OrganizationRecord;
  readonly permissions: Permissions;
}>({
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

/** The user that a token stands for. `service`: the holder and its token, for a token of a team or an organization. */
export const USER_VIEW = view<{ readonly user: Pick<Author, "id" | "name">; readonly service: TeamWithToken | null }>({
  id: ["string", ({ user }) => user.id],
  type: ["string", () => "users"],
  attributes: inner({
    username: ["string", ({ user }) => user.name],
    "is-service-account": ["boolean", ({ service }) => service !== null],
    email: ["string | null", () => null],
  }),
  "relationships?": ["object", ({ service }) => service?.team && { "authenticated-resource": linkTo(service.team) }],
  links: inner({
    self: ["string", ({ user }) => `/api/v2/users/${user.id}`],
    "auth-token?": [
      "string",
      ({ service }) => service?.token && `/api/v2/authentication-tokens/${service.token.tokenId}`,
    ],
  }),
});

function linkTo({ teamId, organization, holder }: TeamRecord): Record<string, unknown> {
  const data = holder ? { id: organization, type: "organizations" } : { id: teamId, type: "teams" };
  return { data, links: { related: `/api/v2/${data.type}/${data.id}` } };
}

/** Returns a function that shows teams, with the permissions of the caller. */
export async function teamsFor(context: CallContext) {
  const may = await mayOf(context);
  return (team: TeamRecord) => {
    const canDestroy = !team.owners && may("delete", `teams/${team.teamId}`, canonicalPathOf(team));
    // A team has no members, so its membership can't be changed.
    return TEAM_VIEW.show({ team, permissions: { "can-update-membership": false, "can-destroy": canDestroy } });
  };
}

/** Returns a function that shows organizations, with the permissions of the caller. */
export async function organizationsFor(context: CallContext) {
  const may = await mayOf(context);
  return (organization: OrganizationRecord) => {
    const path = `organizations/${organization.name}`;
    const permissions = {
      "can-traverse": may("read", path),
      "can-update": may("patch", path),
      "can-destroy": may("delete", path),
      "can-create-team": may("update", `${path}/teams`),
    };
    return ORGANIZATION_VIEW.show({ organization, permissions });
  };
}

async function mayOf({ env, installation, caller }: CallContext) {
  const acl = await aclOfToken(env, installation, caller.record);
  const now = currentTime();
  return (operation: Operation, path: string, alternatePath?: string): boolean => {
    if (!acl.ok) return false;
    const access = { operation, path, alternatePath };
    return (isOfTeam(caller) && caller.manages(access)) || evaluateAcl(acl.value, access, now).allowed;
  };
}
