import { type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { NO_ORGANIZATION } from "../../team/failures.ts";
import { organizationNamed, teamAt } from "../../team/find.ts";
import { newTeamId, readTeamId, teamRoute } from "../../team/ids.ts";
import type { Page, TeamRecord, TeamSettings } from "../../team/record.ts";
import { NEW_TEAM, settingsOf, TEAM_CHANGE } from "../../team/rules/settings.ts";
import { ANY_FIELDS } from "../../wire/fields.ts";
import { EMPTY, plainReply, type Reply } from "../../wire/reply.ts";
import { readResource } from "../json-api/document.ts";
import {
  type ListQuery,
  PAGE_FIELDS,
  pageDocument,
  pageShape,
  readInclude,
  readListQuery,
  readSearch,
  refusedParameter,
  SEARCH_FIELD,
} from "../json-api/page.ts";
import { mayOf, teamPermissions } from "./permissions.ts";
import { TEAM_SHAPE, teamResource } from "./render.ts";

const TYPES = ["teams"];
/** Names in one `filter[names]`. */
const MAX_NAMES = 100;
const NAMES = "filter[names]";
/** What can be included with a team: there is never any. */
const RELATED = ["users", "organization-memberships"];

const NOT_FOUND = err({ code: "not_found" } as const);

const DEFAULTS: Omit<TeamSettings, "name"> = {
  visibility: "secret",
  ssoTeamId: null,
  allowMemberTokenManagement: true,
  organizationAccess: {},
  tokenPolicies: [],
};

const ORGANIZATION = { organization: "The name of the organization" };
const TEAM = { team: "The id of the team" };
const LIST_FIELDS = {
  ...PAGE_FIELDS,
  ...SEARCH_FIELD,
  [NAMES]: { shape: "string", description: "Exact names, with commas between" },
  include: { shape: "string", description: `${RELATED.join(" or ")}, of which there are none` },
} as const;
const TEAM_FIELDS = {
  name: { shape: "string", description: "The name" },
  visibility: { shape: "string", description: "`secret` or `organization`" },
  "sso-team-id": { shape: "string | null", description: "What the identity provider calls the team" },
  "allow-member-token-management": { shape: "boolean", description: "Kept and shown" },
  "organization-access": { shape: { "*": "boolean" }, description: "Flags by name; kept and shown" },
  "token-policies": { shape: ["string"], description: "Policies of the tokens of the team; needs sudo" },
} as const;

/** Teams. */
export const TEAMS_ROUTES: readonly Route[] = [
  tokenRoute(
    "read",
    "organizations/:organization/teams",
    {
      summary: "Lists the teams of an organization by page.",
      operationId: "teams-list-teams",
      parameters: ORGANIZATION,
      fields: LIST_FIELDS,
      answers: plainAnswer(pageShape(TEAM_SHAPE)),
    },
    ANY_FIELDS,
    {
      prepare: async ({ fields }) => readTeamQuery(fields),
      async handle(context) {
        const { request, prepared } = context;
        const page = await findTeams(context, prepared);
        if (!page.ok) return page;
        const may = await mayOf(context);
        const body = pageDocument(request.baseUrl(), request.path, prepared.query, page.value, (team) =>
          teamResource(team, teamPermissions(may, team)),
        );
        return ok(plainReply({ ...body, ...prepared.included }));
      },
    },
  ),

  tokenRoute(
    "update",
    "organizations/:organization/teams",
    {
      summary: "Makes a team.",
      operationId: "teams-create-team",
      parameters: ORGANIZATION,
      fields: TEAM_FIELDS,
      answers: plainAnswer({ data: TEAM_SHAPE }),
    },
    ANY_FIELDS,
    {
      prepare: async ({ request, fields }) =>
        readResource({ type: request.resourceType, attributes: fields }, TYPES, NEW_TEAM),
      async handle(context) {
        const { env, installation, params, prepared } = context;
        const given = settingsOf(prepared);
        if (!mayGivePolicies(context, given)) return err(POLICIES_REFUSED);
        const name = params.organization ?? "";
        const organization = await organizationNamed(env, name).show(name);
        if (!organization) return err(NO_ORGANIZATION);
        const teamId = await newTeamId(installation.keys);
        const { organizationId } = organization;
        const settings = { ...DEFAULTS, ...given, name: prepared.name };
        const team = { ...settings, teamId, organization: name, organizationId, createdAt: currentTime() };
        const created = await teamAt(env, teamRoute(teamId)).create(team);
        // 200 and not 201: what clients of this interface were made with.
        return created.ok ? document(context, created.value) : created;
      },
    },
  ),

  tokenRoute(
    "read",
    "teams/:team",
    {
      summary: "Shows a team.",
      operationId: "teams-read-team",
      parameters: TEAM,
      fields: { include: LIST_FIELDS.include },
      answers: plainAnswer({ data: TEAM_SHAPE, "included?": ["object"] }),
    },
    ANY_FIELDS,
    {
      prepare: async ({ fields }) => readIncluded(fields.include),
      async handle(context) {
        const route = await readTeamId(context.installation.keys, context.params.team ?? "");
        return document(context, route === null ? null : await teamAt(context.env, route).show(), context.prepared);
      },
    },
  ),

  tokenRoute(
    "patch",
    "teams/:team",
    {
      summary: "Changes a team.",
      operationId: "teams-update-team",
      parameters: TEAM,
      fields: TEAM_FIELDS,
      answers: plainAnswer({ data: TEAM_SHAPE }),
    },
    ANY_FIELDS,
    {
      prepare: async ({ request, fields }) =>
        readResource({ type: request.resourceType, attributes: fields }, TYPES, TEAM_CHANGE),
      async handle(context) {
        const { env, installation, params, prepared } = context;
        const settings = settingsOf(prepared);
        if (!mayGivePolicies(context, settings)) return err(POLICIES_REFUSED);
        const route = await readTeamId(installation.keys, params.team ?? "");
        if (route === null) return NOT_FOUND;
        const updated = await teamAt(env, route).update(settings);
        return updated.ok ? document(context, updated.value) : updated;
      },
    },
  ),

  simpleRoute(
    "delete",
    "teams/:team",
    {
      summary: "Deletes a team with its tokens.",
      operationId: "teams-delete-team",
      parameters: TEAM,
      fields: {},
      answers: NO_CONTENT,
    },
    ANY_FIELDS,
    async ({ env, installation, params }) => {
      const route = await readTeamId(installation.keys, params.team ?? "");
      if (route === null) return NOT_FOUND;
      const removed = await teamAt(env, route).remove();
      return removed.ok ? ok(EMPTY) : removed;
    },
  ),
];

const POLICIES_REFUSED: Failure = {
  code: "forbidden",
  message: "token-policies can only be set by a caller with sudo on this path",
};

/**
 * Whoever gives a team policies can have a token with them: that takes sudo, like a token with policies that its creator
 * does not have.
 */
function mayGivePolicies({ verdict }: CallContext<unknown, unknown>, settings: Partial<TeamSettings>): boolean {
  return verdict.sudo || settings.tokenPolicies === undefined;
}

/** The member of a document for what was asked to be included. */
type Included = { readonly included?: readonly never[] };

function readIncluded(include: unknown): Result<Included, Failure> {
  const read = readInclude(include, RELATED);
  return read.ok ? ok(include === undefined ? {} : { included: [] }) : read;
}

interface TeamQuery {
  readonly query: ListQuery;
  readonly included: Included;
  readonly search: string;
  /** Exact names; null for all. */
  readonly names: readonly string[] | null;
}

function readTeamQuery(fields: Readonly<Record<string, unknown>>): Result<TeamQuery, Failure> {
  const query = readListQuery(fields, ["q", NAMES, "include"]);
  if (!query.ok) return query;
  const included = readIncluded(fields.include);
  if (!included.ok) return included;
  const search = readSearch(query.value);
  if (!search.ok) return search;
  const names = query.value.parameters[NAMES]?.split(",") ?? null;
  if (names && names.length > MAX_NAMES) return refusedParameter(NAMES, `${NAMES} holds more than ${MAX_NAMES} names`);
  if (names && search.value !== "") return refusedParameter("q", `q and ${NAMES} can't be given together`);
  return ok({ query: query.value, included: included.value, search: search.value, names });
}

async function findTeams(
  { env, params }: CallContext<unknown, TeamQuery>,
  { query, search, names }: TeamQuery,
): Promise<Result<Page<TeamRecord>, Failure>> {
  const name = params.organization ?? "";
  const organization = organizationNamed(env, name);
  if (names === null) return organization.listTeams(name, query.page, search);
  const found = await organization.teamsNamed(name, names);
  if (!found.ok) return found;
  const { number, size } = query.page;
  return ok({ items: found.value.slice((number - 1) * size, number * size), total: found.value.length });
}

async function document(
  context: CallContext<unknown, unknown>,
  team: TeamRecord | null,
  included: Included = {},
): Promise<Result<Reply, Failure>> {
  if (!team) return NOT_FOUND;
  const data = teamResource(team, teamPermissions(await mayOf(context), team));
  return ok(plainReply({ data, ...included }));
}
