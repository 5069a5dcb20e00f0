import { openRoute, type Route } from "../../auth/route.ts";
import { plainAnswer } from "../../auth/route-description.ts";
import { ok } from "../../base/result.ts";
import { plainReply } from "../../wire/reply.ts";

/** Base path of the interface of teams. */
const TEAMS_BASE = "/api/v2/";

/** How clients of the Terraform ecosystem find the interface of teams: service ids and the base path of each. */
export const DISCOVERY_ROUTES: readonly Route[] = [
  openRoute(
    "read",
    ".well-known/terraform.json",
    {
      summary: "Tells clients of the Terraform ecosystem where the interface of teams is.",
      operationId: "terraform-discovery",
      fields: {},
      answers: plainAnswer({ "*": "string" }),
    },
    async () => ok(plainReply({ "tfe.v2": TEAMS_BASE, "tfe.v2.1": TEAMS_BASE, "tfe.v2.2": TEAMS_BASE })),
  ),
];
