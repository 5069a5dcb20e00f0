import { readRoute } from "../../../auth/record-routes.ts";
import { openRoute, type Route } from "../../../auth/route.ts";
import { injectedAnswer, plainAnswer } from "../../../auth/route-description.ts";
import type { Result } from "../../../base/result.ts";
import type { Installation } from "../../../system/installation.ts";
import { injectedReply, plainReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";

/** The version of the reference whose interface Grove implements. Clients enable features by it. */
export const API_VERSION = "2.6.2";

/** The name of the cluster in answers. */
export const CLUSTER_NAME = "grove";

/** The public state of the installation. */
export interface ServiceState {
  readonly initialized: boolean;
  readonly sealed: boolean;
  readonly clusterId: string;
  /** The version of the seal key that wraps the key ring; 0 while sealed. */
  readonly sealKeyVersion: number;
}

/** Returns the state of the installation. */
export function stateOf(loaded: Result<Installation>): ServiceState {
  if (loaded.ok) {
    const { clusterId, sealKeyVersion } = loaded.value;
    return { initialized: true, sealed: false, clusterId, sealKeyVersion };
  }
  return { initialized: loaded.error.code !== "uninitialized", sealed: true, clusterId: "", sealKeyVersion: 0 };
}

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

/** The only node of the cluster in answers: the address that the client called. */
const NODE_VIEW = view<URL>({
  hostname: ["string", ({ hostname }) => hostname],
  api_address: ["string", ({ origin }) => origin],
  cluster_address: ["string", () => ""],
  active_node: ["boolean", () => true],
  last_echo: ["string | null", () => null],
  version: ["string", () => API_VERSION],
});

/** The state of the seal, and the endpoints for clients of a cluster: Grove is a cluster of one node. */
export const STATE_ROUTES: readonly Route[] = [
  openRoute("read", "sys/seal-status", {
    summary: "Shows whether the service is sealed.",
    operationId: "seal-status",
    answers: plainAnswer(SEAL_VIEW.shape),
    handle: async ({ loaded }) => plainReply(SEAL_VIEW.show(stateOf(loaded))),
  }),
  openRoute("update", "sys/unseal", {
    summary: "Shows whether the service is sealed. It can't be unsealed over the API.",
    operationId: "unseal",
    fields: {
      key: { shape: "string", description: "Ignored" },
      reset: { shape: "boolean", description: "Ignored" },
      migrate: { shape: "boolean", description: "Ignored" },
    },
    answers: plainAnswer(SEAL_VIEW.shape),
    handle: async ({ loaded }) => plainReply(SEAL_VIEW.show(stateOf(loaded))),
  }),

  openRoute("read", "sys/leader", {
    summary: "Says that there is no leader: all instances of the Worker are equal.",
    operationId: "leader-status",
    answers: plainAnswer({ ha_enabled: "boolean" }),
    handle: async () => plainReply({ ha_enabled: false }),
  }),

  readRoute("sys/ha-status", {
    summary: "Shows the only node of the cluster.",
    operationId: "ha-status",
    answers: injectedAnswer({ nodes: [NODE_VIEW.shape] }),
    handle: async ({ request }) => injectedReply({ nodes: [NODE_VIEW.show(new URL(request.baseUrl()))] }),
  }),
];
