import { type Answered, type CallContext, type Route, tokenRoute } from "../../auth/route.ts";
import { describeFields, NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { err, type Failure, NOT_FOUND, ok, type Result } from "../../base/result.ts";
import { NO_ORGANIZATION } from "../../team/failures.ts";
import { organizationNamed, teamAt } from "../../team/find.ts";
import { newTeamId, readTeamId, teamRoute } from "../../team/ids.ts";
import type { Page, TeamRecord, TeamSettings } from "../../team/record.ts";
import { NEW_TEAM, settingsOf, TEAM_CHANGE } from "../../team/rules/settings.ts";
import { exact } from "../../wire/exact-fields.ts";
import { ANY_FIELDS, fieldSchema, type Values } from "../../wire/fields.ts";
import { doneReply, plainReply } from "../../wire/reply.ts";
import {
  bareRoute,
  documentRoute,
  includeField,
  type ListQuery,
  listRoute,
  pageReply,
  pageShape,
  readInclude,
  refusedParameter,
  SEARCH_FIELD,
} from "../json-api/routes.ts";
import { mayOf, TEAM_VIEW, teamPermissions } from "./render.ts";

const TYPES = ["teams"];
/** Names in one `filter[names]`. */
const MAX_NAMES = 100;
const NAMES = "filter[names]";
/** What can be included with a team: there is never any. */
const RELATED = ["users", "organization-memberships"];

const DEFAULTS: Omit<TeamSettings, "name"> = {
  visibility: "secret",
  ssoTeamId: null,
  allowMemberTokenManagement: true,
  organizationAccess: {},
  tokenPolicies: [],
};

const LIST_FIELDS = fieldSchema({
  ...SEARCH_FIELD,
  [NAMES]: exact("string", (value) => {
    const names = typeof value === "string" ? value.split(",") : null;
    return names && names.length > MAX_NAMES ? err(`holds more than ${MAX_NAMES} names`) : ok(names);
  }).describe("Exact names, with commas between"),
});

/** Teams. */
export const TEAMS_ROUTES: readonly Route[] = [
  listRoute("organizations/:organization/teams", {
    summary: "Lists the teams of an organization by page.",
    operationId: "teams-list-teams",
    answers: plainAnswer(pageShape(TEAM_VIEW.shape)),
    own: LIST_FIELDS,
    handle: async (context) => {
      const page = await findTeams(context);
      if (!page.ok) return page;
      const may = await mayOf(context);
      return pageReply(context, page.value, (team) =>
        TEAM_VIEW.show({ team, permissions: teamPermissions(may, team) }),
      );
    },
    related: RELATED,
  }),
  documentRoute("update", "organizations/:organization/teams", {
    summary: "Makes a team.",
    operationId: "teams-create-team",
    answers: plainAnswer({ data: TEAM_VIEW.shape }),
    types: TYPES,
    attributes: NEW_TEAM,
    handle: async (context) => {
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
  }),
  tokenRoute("read", "teams/:team", {
    summary: "Shows a team.",
    operationId: "teams-read-team",
    fields: describeFields(fieldSchema(includeField(RELATED))),
    answers: plainAnswer({ data: TEAM_VIEW.shape, "included?": ["object"] }),
    input: ANY_FIELDS,
    prepare: async ({ fields }) => readInclude(fields.include, RELATED),
    async handle(context) {
      const route = await readTeamId(context.installation.keys, context.params.team ?? "");
      return document(context, route === null ? null : await teamAt(context.env, route).show(), context.prepared);
    },
  }),
  documentRoute("patch", "teams/:team", {
    summary: "Changes a team.",
    operationId: "teams-update-team",
    answers: plainAnswer({ data: TEAM_VIEW.shape }),
    types: TYPES,
    attributes: TEAM_CHANGE,
    handle: async (context) => {
      const { env, installation, params, prepared } = context;
      const settings = settingsOf(prepared);
      if (!mayGivePolicies(context, settings)) return err(POLICIES_REFUSED);
      const route = await readTeamId(installation.keys, params.team ?? "");
      if (route === null) return NOT_FOUND;
      const updated = await teamAt(env, route).update(settings);
      return updated.ok ? document(context, updated.value) : updated;
    },
  }),
  bareRoute("delete", "teams/:team", {
    summary: "Deletes a team with its tokens.",
    operationId: "teams-delete-team",
    answers: NO_CONTENT,
    handle: async ({ env, installation, params }) => {
      const route = await readTeamId(installation.keys, params.team ?? "");
      return route === null ? NOT_FOUND : doneReply(await teamAt(env, route).remove());
    },
  }),
];

const POLICIES_REFUSED: Failure = {
  code: "forbidden",
  message: "token-policies can only be set by a caller with sudo on this path",
};

/**
 * A caller that gives a team policies can have a token with them: that takes sudo, like a token with policies that its creator
 * does not have.
 */
function mayGivePolicies({ verdict }: CallContext, settings: Partial<TeamSettings>): boolean {
  return verdict.sudo || settings.tokenPolicies === undefined;
}

async function findTeams({
  env,
  params,
  prepared,
}: CallContext<unknown, ListQuery<Values<typeof LIST_FIELDS>>>): Promise<Result<Page<TeamRecord>>> {
  const { q: search, [NAMES]: names } = prepared.own;
  const { number, size } = prepared.page;
  if (names && search !== "") return refusedParameter("q", `q and ${NAMES} can't be given together`);
  const name = params.organization ?? "";
  const organization = organizationNamed(env, name);
  if (names === null) return organization.listTeams(name, prepared.page, search);
  const found = await organization.teamsNamed(name, names);
  if (!found.ok) return found;
  return ok({ items: found.value.slice((number - 1) * size, number * size), total: found.value.length });
}

async function document(
  context: CallContext,
  team: TeamRecord | null,
  included: Readonly<Record<string, unknown>> = {},
): Answered {
  if (!team) return NOT_FOUND;
  const data = TEAM_VIEW.show({ team, permissions: teamPermissions(await mayOf(context), team) });
  return ok(plainReply({ data, ...included }));
}
