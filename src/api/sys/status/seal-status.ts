import { openRoute, type Route } from "../../../auth/route.ts";
import { plainAnswer } from "../../../auth/route-description.ts";
import { ok } from "../../../base/result.ts";
import { plainReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { API_VERSION, CLUSTER_NAME, type ServiceState, stateOf } from "./state.ts";

const SEAL_VIEW = view<ServiceState>({
  type: ["string", () => "secret"],
  initialized: ["boolean", (state) => state.initialized],
  sealed: ["boolean", (state) => state.sealed],
  t: ["integer", () => 0],
  n: ["integer", () => 0],
  progress: ["integer", () => 0],
  nonce: ["string", () => ""],
  recovery_seal: ["boolean", () => false],
  version: ["string", () => API_VERSION],
  commit_date: ["string", () => ""],
  migration: ["boolean", () => false],
  "cluster_name?": ["string", (state) => (state.sealed ? undefined : CLUSTER_NAME)],
  "cluster_id?": ["string", (state) => (state.sealed ? undefined : state.clusterId)],
  "seal_key_version?": ["integer", (state) => (state.sealed ? undefined : state.sealKeyVersion)],
  storage_type: ["string", () => "durable_objects"],
});

/** Whether the service is sealed. No token is needed. */
export const SEAL_ROUTES: readonly Route[] = [
  openRoute(
    "read",
    "sys/seal-status",
    {
      summary: "Tells whether the service is sealed.",
      operationId: "seal-status",
      fields: {},
      answers: plainAnswer(SEAL_VIEW.shape),
    },
    async ({ loaded }) => ok(plainReply(SEAL_VIEW.show(stateOf(loaded)))),
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
      answers: plainAnswer(SEAL_VIEW.shape),
    },
    async ({ loaded }) => ok(plainReply(SEAL_VIEW.show(stateOf(loaded)))),
  ),
];
