import { openRoute, type Route, withParameters } from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { ok } from "../../base/result.ts";
import { userIdOf } from "../../team/ids.ts";
import { EMPTY, plainReply } from "../../wire/reply.ts";
import { bareRoute, documentAnswer, documentReply } from "../json-api/routes.ts";
import { AUDIT_TRAIL_ROUTES } from "./audit-trail.ts";
import { isOfTeam } from "./credential.ts";
import { authorOf } from "./new-token.ts";
import { ORGANIZATION_TOKEN_ROUTES } from "./organization-tokens.ts";
import { ORGANIZATION_ROUTES } from "./organizations.ts";
import { TEAMS_ROUTES } from "./teams.ts";
import { TEAM_TOKEN_ROUTES } from "./tokens.ts";
import { USER_VIEW } from "./view.ts";
import { WEBHOOK_ROUTES } from "./webhooks.ts";

const TEAMS_BASE = "/api/v2/";

/** Service discovery for clients of the Terraform ecosystem: the base path of each service id. */
export const DISCOVERY_ROUTES: readonly Route[] = [
  openRoute("read", ".well-known/terraform.json", {
    summary: "Tells Terraform's clients where the API of teams is.",
    operationId: "terraform-discovery",
    answers: plainAnswer({ "*": "string" }),
    handle: async () => plainReply({ "tfe.v2": TEAMS_BASE, "tfe.v2.1": TEAMS_BASE, "tfe.v2.2": TEAMS_BASE }),
  }),
];

const PARAMETERS = { organization: "The name of the organization", team: "The id of the team" };

export const TEAM_ROUTES: readonly Route[] = withParameters(PARAMETERS, [
  // Clients send this request first, and read the headers that all answers have.
  openRoute(["read", "head"], "ping", {
    summary: "Answers only the headers that clients read first.",
    operationId: "teams-ping",
    answers: NO_CONTENT,
    handle: async () => ok(EMPTY),
  }),
  bareRoute("read", "account/details", {
    summary: "Shows the caller as a user.",
    operationId: "teams-read-account",
    answers: documentAnswer(USER_VIEW),
    // A team and an organization are shown as service users, as in HCP Terraform.
    handle: async ({ caller, installation: { keys } }) => {
      if (!isOfTeam(caller)) {
        return documentReply(USER_VIEW.show({ user: await authorOf(keys, caller), service: null }));
      }
      const { teamId, name, organization, holder } = caller.team;
      const id = await userIdOf(keys, `team\0${teamId}`);
      const user = { id, name: holder ? `api-org_${organization}` : `api-team_${name}` };
      return documentReply(USER_VIEW.show({ user, service: caller }));
    },
  }),
  ...ORGANIZATION_ROUTES,
  ...ORGANIZATION_TOKEN_ROUTES,
  ...TEAMS_ROUTES,
  ...TEAM_TOKEN_ROUTES,
  ...WEBHOOK_ROUTES,
  ...AUDIT_TRAIL_ROUTES,
]);
