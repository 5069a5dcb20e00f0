import { type OpenContext, openRoute, type Route } from "../../../auth/route.ts";
import { plainAnswer } from "../../../auth/route-description.ts";
import { ok } from "../../../base/result.ts";
import { plainReply } from "../../../wire/reply.ts";
import type { Shape } from "../../../wire/shape.ts";
import { API_VERSION, CLUSTER_NAME, stateOf } from "./state.ts";

const SEAL_SHAPE: Shape = {
  type: "string",
  initialized: "boolean",
  sealed: "boolean",
  t: "integer",
  n: "integer",
  progress: "integer",
  nonce: "string",
  recovery_seal: "boolean",
  version: "string",
  commit_date: "string",
  migration: "boolean",
  "cluster_name?": "string",
  "cluster_id?": "string",
  "seal_key_version?": "integer",
  storage_type: "string",
};

/** Whether the service is sealed. No token is needed. */
export const SEAL_ROUTES: readonly Route[] = [
  openRoute(
    "read",
    "sys/seal-status",
    {
      summary: "Tells whether the service is sealed.",
      operationId: "seal-status",
      fields: {},
      answers: plainAnswer(SEAL_SHAPE),
    },
    async ({ loaded }) => ok(plainReply(sealStatus(loaded))),
  ),
  // Nothing can be unsealed; clients that try get the state.
  openRoute(
    "update",
    "sys/unseal",
    {
      summary: "Tells whether the service is sealed: there is nothing to unseal.",
      operationId: "unseal",
      fields: {
        key: { shape: "string", description: "Not used" },
        reset: { shape: "boolean", description: "Not used" },
        migrate: { shape: "boolean", description: "Not used" },
      },
      answers: plainAnswer(SEAL_SHAPE),
    },
    async ({ loaded }) => ok(plainReply(sealStatus(loaded))),
  ),
];

function sealStatus(loaded: OpenContext["loaded"]): Record<string, unknown> {
  const { initialized, sealed, clusterId, sealKeyVersion } = stateOf(loaded);
  return {
    type: "secret",
    initialized,
    sealed,
    t: 0,
    n: 0,
    progress: 0,
    nonce: "",
    recovery_seal: false,
    version: API_VERSION,
    commit_date: "",
    migration: false,
    ...(!sealed && { cluster_name: CLUSTER_NAME, cluster_id: clusterId, seal_key_version: sealKeyVersion }),
    storage_type: "durable_objects",
  };
}
