import { readRoute } from "../../../auth/record-routes.ts";
import { openRoute, type Route } from "../../../auth/route.ts";
import { injectedAnswer, plainAnswer } from "../../../auth/route-description.ts";
import { ok } from "../../../base/result.ts";
import { injectedReply, plainReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { API_VERSION } from "./state.ts";

/** The one node that clients of a cluster see: the name by which they called. */
const NODE_VIEW = view<URL>({
  hostname: ["string", ({ hostname }) => hostname],
  api_address: ["string", ({ origin }) => origin],
  cluster_address: ["string", () => ""],
  active_node: ["boolean", () => true],
  last_echo: ["string | null", () => null],
  version: ["string", () => API_VERSION],
});

/** What clients of a cluster ask: Grove shows itself as a cluster of one node. */
export const CLUSTER_ROUTES: readonly Route[] = [
  openRoute(
    "read",
    "sys/leader",
    {
      summary: "Tells that there is no leader: every instance of the Worker is the same.",
      operationId: "leader-status",
      fields: {},
      answers: plainAnswer({ ha_enabled: "boolean" }),
    },
    async () => ok(plainReply({ ha_enabled: false })),
  ),

  readRoute(
    "sys/ha-status",
    {
      summary: "Shows the one node that clients of a cluster see.",
      operationId: "ha-status",
      answers: injectedAnswer({ nodes: [NODE_VIEW.shape] }),
    },
    async ({ request }) => ok(injectedReply({ nodes: [NODE_VIEW.show(new URL(request.baseUrl()))] })),
  ),
];
