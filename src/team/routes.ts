import type { Failure } from "../errors.ts";
import { ANY_FIELDS } from "../http/fields.ts";
import { EMPTY, type Reply } from "../http/reply.ts";
import { type CallContext, openRoute, type Route, simpleRoute } from "../http/route.ts";
import { ok, type Result } from "../result.ts";
import { authorOf } from "./author.ts";
import { userIdOf } from "./ids.ts";
import { serviceUserResource, userResource } from "./render.ts";
import { ORGANIZATION_ROUTES } from "./routes/organizations.ts";
import { TEAMS_ROUTES } from "./routes/teams.ts";
import { TEAM_TOKEN_ROUTES } from "./routes/tokens.ts";

/** The interface of teams, by full path. */
export const TEAM_ROUTES: readonly Route[] = [
  // Clients ask this first, for the headers that every answer here has.
  openRoute(["read", "head"], "ping", async () => ok(EMPTY)),
  simpleRoute("read", "account/details", ANY_FIELDS, showAccount),
  ...ORGANIZATION_ROUTES,
  ...TEAMS_ROUTES,
  ...TEAM_TOKEN_ROUTES,
];

/** Who the caller is: for the token of a team the user that stands for the team. */
async function showAccount(context: CallContext<unknown, unknown>): Promise<Result<Reply, Failure>> {
  const { caller, installation } = context;
  const { keys } = installation;
  const data =
    caller.kind === "team"
      ? serviceUserResource(await userIdOf(keys, `team\0${caller.team.teamId}`), caller.team, caller.token)
      : userResource(await authorOf(keys, caller));
  return ok({ kind: "plain", status: 200, body: { data } });
}
