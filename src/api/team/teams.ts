import { type Answered, type CallContext, type Route, tokenRoute } from "../../auth/route.ts";
import { describeFields, NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { attempted, type CallAttempt, changedOnce } from "../../base/lost-call-retry.ts";
import { LOST } from "../../base/platform-errors.ts";
import { err, type Failure, NOT_FOUND, ok, type Result } from "../../base/result.ts";
import { newTeamId, readTeamId, teamRoute } from "../../team/ids.ts";
import type { TeamRecord, TeamSettings } from "../../team/record.ts";
import { DEFAULT_SETTINGS, NEW_TEAM, settingsOf, TEAM_CHANGE } from "../../team/rules/team-settings.ts";
import { teamAt } from "../../team/stubs.ts";
import { ANY_FIELDS, fieldSchema, type Values } from "../../wire/field-schema.ts";
import { exact } from "../../wire/json-type-fields.ts";
import { doneReply, plainReply } from "../../wire/reply.ts";
import {
  bareRoute,
  documentAnswer,
  documentRoute,
  includeField,
  type ListQuery,
  organizationIn,
  readInclude,
  resourceListRoute,
  SEARCH_FIELD,
} from "../json-api/routes.ts";
import { TEAM_VIEW, teamsFor } from "./view.ts";

const TYPES = ["teams"];
const MAX_NAMES = 100;
/** Teams that are tried for one request. */
const MAX_IDS = 3;
const NAMES = "filter[names]";
/** Related resources of a team, which never exist. */
const RELATED = ["users", "organization-memberships"];

const LIST_FIELDS = fieldSchema({
  ...SEARCH_FIELD,
  [NAMES]: exact("string", (value) => {
    const names = typeof value === "string" ? value.split(",") : null;
    return names && names.length > MAX_NAMES ? err(`holds more than ${MAX_NAMES} names`) : ok(names);
  }).describe("Exact names, separated by commas"),
});

export const TEAMS_ROUTES: readonly Route[] = [
  resourceListRoute("organizations/:organization/teams", {
    summary: "Lists the teams of an organization by page.",
    operationId: "teams-list-teams",
    view: TEAM_VIEW,
    own: LIST_FIELDS,
    related: RELATED,
    check: ({ q, [NAMES]: names }) =>
      names && q !== ""
        ? { code: "invalid_parameter", parameter: "q", message: `q and ${NAMES} can't be given together` }
        : null,
    find: findTeams,
    showTo: teamsFor,
  }),
  documentRoute("update", "organizations/:organization/teams", {
    summary: "Creates a team.",
    operationId: "teams-create-team",
    answers: documentAnswer(TEAM_VIEW),
    types: TYPES,
    attributes: NEW_TEAM,
    handle: async (context) => {
      const { prepared } = context;
      const given = settingsOf(prepared);
      if (!mayGivePolicies(context, given)) return err(POLICIES_REFUSED);
      const { name, organization } = organizationIn(context);
      const found = await organization.show(name);
      if (!found) return NOT_FOUND;
      const { organizationId } = found;
      const settings = { ...DEFAULT_SETTINGS, ...given, name: prepared.name };
      const team = { ...settings, organization: name, organizationId, createdAt: currentTime() };
      const created = await create(context, team);
      if (created.ok) context.request.notes.madeId = created.value.teamId;
      // Clients of this interface expect 200 and not 201.
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
    handle: async (context) => document(context, (await (await teamOf(context))?.show()) ?? null, context.prepared),
  }),
  documentRoute("patch", "teams/:team", {
    summary: "Changes a team.",
    operationId: "teams-update-team",
    answers: documentAnswer(TEAM_VIEW),
    types: TYPES,
    attributes: TEAM_CHANGE,
    handle: async (context) => {
      const settings = settingsOf(context.prepared);
      if (!mayGivePolicies(context, settings)) return err(POLICIES_REFUSED);
      const team = await teamOf(context);
      if (!team) return NOT_FOUND;
      const updated = await changedOnce(context.env, (attempt) => team.update(settings, attempt));
      return updated.ok ? document(context, updated.value) : updated;
    },
  }),
  bareRoute("delete", "teams/:team", {
    summary: "Deletes a team with its tokens.",
    operationId: "teams-delete-team",
    answers: NO_CONTENT,
    handle: async (context) => {
      const team = await teamOf(context);
      return team ? doneReply(await changedOnce(context.env, (attempt) => team.remove(attempt))) : NOT_FOUND;
    },
  }),
];

/** Creates a team. One whose call was lost may have been made and have ended by now: then another one is made. */
async function create(
  { env, installation }: CallContext,
  team: Omit<TeamRecord, "teamId">,
): Promise<Result<TeamRecord>> {
  for (let left = MAX_IDS; left > 0; left--) {
    const teamId = await newTeamId(installation.keys);
    const make = async (attempt?: CallAttempt): Promise<Result<TeamRecord>> =>
      teamAt(env, teamRoute(teamId)).create({ ...team, teamId }, attempt);
    const { answer, isRepetition } = await attempted(env, make);
    if (answer.ok) return answer;
    // A team that an object of 1.0.0-rc.1 made with an earlier id can be the cause.
    if (!isRepetition) return left === MAX_IDS ? answer : err(LOST);
  }
  return err(LOST);
}

/** The team in the path; null for an id that this installation has not made. */
async function teamOf({ env, installation, params }: CallContext) {
  const route = await readTeamId(installation.keys, params.team ?? "");
  return route === null ? null : teamAt(env, route);
}

const POLICIES_REFUSED: Failure = {
  code: "forbidden",
  message: "token-policies can only be set by a caller with sudo on this path",
};

/** Setting the policies of a team needs sudo: the caller can then get a token with these policies. */
function mayGivePolicies({ verdict }: CallContext, settings: Partial<TeamSettings>): boolean {
  return verdict.sudo || settings.tokenPolicies === undefined;
}

async function findTeams(context: CallContext<unknown, ListQuery<Values<typeof LIST_FIELDS>>>) {
  const { page, own } = context.prepared;
  const { q: search, [NAMES]: names } = own;
  const { name, organization } = organizationIn(context);
  if (names === null) return organization.listTeams(name, page, search);
  const found = await organization.teamsNamed(name, names);
  if (!found.ok) return found;
  const start = (page.number - 1) * page.size;
  return ok({ items: found.value.slice(start, start + page.size), total: found.value.length });
}

async function document(context: CallContext, team: TeamRecord | null, included: object = {}): Answered {
  if (!team) return NOT_FOUND;
  const show = await teamsFor(context);
  return plainReply({ data: show(team), ...included });
}
