import {
  type Answered,
  type CallContext,
  openRoute,
  type Route,
  withAlternatePath,
  withParameters,
} from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { ok } from "../../base/result.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { canonicalTeamPath } from "../../team/canonical-path.ts";
import { userIdOf } from "../../team/ids.ts";
import type { TeamRecord } from "../../team/record.ts";
import { EMPTY, plainReply } from "../../wire/reply.ts";
import { bareRoute } from "../json-api/routes.ts";
import { ORGANIZATION_ROUTES, TOKEN_TTL_ROUTES } from "./organizations.ts";
import { USER_VIEW } from "./render.ts";
import { TEAMS_ROUTES } from "./teams.ts";
import { authorOf, ROTATION_ROUTES, TEAM_TOKEN_ROUTES, TOKEN_LIST_ROUTES } from "./tokens.ts";
import { WEBHOOK_ROUTES } from "./webhooks.ts";

/** Base path of the interface of teams. */
const TEAMS_BASE = "/api/v2/";

/** How clients of the Terraform ecosystem find the interface of teams: service ids and the base path of each. */
export const DISCOVERY_ROUTES: readonly Route[] = [
  openRoute("read", ".well-known/terraform.json", {
    summary: "Tells clients of the Terraform ecosystem where the interface of teams is.",
    operationId: "terraform-discovery",
    fields: {},
    answers: plainAnswer({ "*": "string" }),
    handle: async () => ok(plainReply({ "tfe.v2": TEAMS_BASE, "tfe.v2.1": TEAMS_BASE, "tfe.v2.2": TEAMS_BASE })),
  }),
];

const PARAMETERS = { organization: "The name of the organization", team: "The id of the team" };

/** The interface of teams, by full path. */
export const TEAM_ROUTES: readonly Route[] = withParameters(PARAMETERS, [
  // Clients ask this first, for the headers that every answer here has.
  openRoute(["read", "head"], "ping", {
    summary: "Answers nothing but the headers that clients ask first.",
    operationId: "teams-ping",
    fields: {},
    answers: NO_CONTENT,
    handle: async () => ok(EMPTY),
  }),
  bareRoute("read", "account/details", {
    summary: "Shows who the caller is.",
    operationId: "teams-read-account",
    answers: plainAnswer({ data: USER_VIEW.shape }),
    handle: showAccount,
  }),
  ...ORGANIZATION_ROUTES,
  ...withAlternatePath(
    ({ env, installation }, path) => canonicalTeamPath(env, installation.keys, path),
    [...TEAMS_ROUTES, ...TEAM_TOKEN_ROUTES, ...ROTATION_ROUTES],
  ),
  ...TOKEN_LIST_ROUTES,
  ...TOKEN_TTL_ROUTES,
  ...WEBHOOK_ROUTES,
]);

/** Who the caller is: for the token of a team the user that stands for the team. */
async function showAccount(context: CallContext): Answered {
  const { caller, installation } = context;
  const { keys } = installation;
  const shown =
    caller.kind === "team"
      ? { user: await serviceUserOf(keys, caller.team), service: caller }
      : { user: await authorOf(keys, caller), service: null };
  return ok(plainReply({ data: USER_VIEW.show(shown) }));
}

/** The user that stands for a team when it uses its token. */
async function serviceUserOf(keys: Keys, { teamId, name }: TeamRecord) {
  return { id: await userIdOf(keys, `team\0${teamId}`), name: `api-team_${name}` };
}
