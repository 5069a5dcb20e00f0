import { openRoute, type Route, simpleRoute } from "../../../auth/route.ts";
import { injectedAnswer, plainAnswer } from "../../../auth/route-description.ts";
import { ok } from "../../../base/result.ts";
import { NO_FIELDS } from "../../../wire/fields.ts";
import { injectedReply, plainReply } from "../../../wire/reply.ts";
import type { Shape } from "../../../wire/shape.ts";
import { API_VERSION } from "./state.ts";

const NODE_SHAPE: Shape = {
  hostname: "string",
  api_address: "string",
  cluster_address: "string",
  active_node: "boolean",
  last_echo: "string | null",
  version: "string",
};

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

  simpleRoute(
    "read",
    "sys/ha-status",
    {
      summary: "Shows the one node that clients of a cluster see.",
      operationId: "ha-status",
      answers: injectedAnswer({ nodes: [NODE_SHAPE] }),
    },
    NO_FIELDS,
    async ({ request }) => ok(injectedReply({ nodes: [nodeAt(request.baseUrl())] })),
  ),
];

/** The one node that clients of a cluster see: the name by which they called. */
function nodeAt(baseUrl: string): Record<string, unknown> {
  const { origin, hostname } = new URL(baseUrl);
  return {
    hostname,
    api_address: origin,
    cluster_address: "",
    active_node: true,
    last_echo: null,
    version: API_VERSION,
  };
}
