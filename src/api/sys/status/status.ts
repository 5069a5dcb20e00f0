import { readRoute } from "../../../auth/record-routes.ts";
import { openRoute, type Route } from "../../../auth/route.ts";
import { injectedAnswer, plainAnswer } from "../../../auth/route-description.ts";
import { ok, type Result } from "../../../base/result.ts";
import type { Installation } from "../../../system/installation.ts";
import { injectedReply, plainReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";

/**
 * The version that clients see. They enable features by it and know only versions of the reference server, so it is the
 * version whose interface Grove implements.
 */
export const API_VERSION = "2.6.2";

/** The name of the one cluster that clients see. */
export const CLUSTER_NAME = "grove";

/** What anybody may know of the installation. */
export interface ServiceState {
  readonly initialized: boolean;
  readonly sealed: boolean;
  readonly clusterId: string;
  /** The version of the seal key that wraps the key ring; 0 while sealed. */
  readonly sealKeyVersion: number;
}

/** The state as the isolate knows it that serves the request. */
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

/** The one node that clients of a cluster see: the name by which they called. */
const NODE_VIEW = view<URL>({
  hostname: ["string", ({ hostname }) => hostname],
  api_address: ["string", ({ origin }) => origin],
  cluster_address: ["string", () => ""],
  active_node: ["boolean", () => true],
  last_echo: ["string | null", () => null],
  version: ["string", () => API_VERSION],
});

/**
 * Whether the service is sealed, for which no token is needed, and what clients of a cluster ask: Grove shows itself as a cluster of
 * one node.
 */
export const STATE_ROUTES: readonly Route[] = [
  openRoute("read", "sys/seal-status", {
    summary: "Tells whether the service is sealed.",
    operationId: "seal-status",
    fields: {},
    answers: plainAnswer(SEAL_VIEW.shape),
    handle: async ({ loaded }) => ok(plainReply(SEAL_VIEW.show(stateOf(loaded)))),
  }),
  // Nothing can be unsealed; clients that try get the state.
  openRoute("update", "sys/unseal", {
    summary: "Tells whether the service is sealed: there is nothing to unseal.",
    operationId: "unseal",
    fields: {
      key: { shape: "string", description: "Not used" },
      reset: { shape: "boolean", description: "Not used" },
      migrate: { shape: "boolean", description: "Not used" },
    },
    answers: plainAnswer(SEAL_VIEW.shape),
    handle: async ({ loaded }) => ok(plainReply(SEAL_VIEW.show(stateOf(loaded)))),
  }),

  openRoute("read", "sys/leader", {
    summary: "Tells that there is no leader: every instance of the Worker is the same.",
    operationId: "leader-status",
    fields: {},
    answers: plainAnswer({ ha_enabled: "boolean" }),
    handle: async () => ok(plainReply({ ha_enabled: false })),
  }),

  readRoute("sys/ha-status", {
    summary: "Shows the one node that clients of a cluster see.",
    operationId: "ha-status",
    answers: injectedAnswer({ nodes: [NODE_VIEW.shape] }),
    handle: async ({ request }) => ok(injectedReply({ nodes: [NODE_VIEW.show(new URL(request.baseUrl()))] })),
  }),
];
