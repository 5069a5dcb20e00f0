import { openRoute, type Route, simpleRoute } from "../../auth/route.ts";
import { injectedAnswer, plainAnswer } from "../../auth/route-description.ts";
import { currentTime, formatTime, inTime, type Ms } from "../../base/clock.ts";
import { staleCopyAgeMs } from "../../base/copy-owner.ts";
import { ok, type Result, refuse } from "../../base/result.ts";
import { SingleFlight } from "../../base/single-flight.ts";
import { groveVersion } from "../../base/version.ts";
import type { Env } from "../../env.ts";
import { identityOf } from "../../identity/stubs.ts";
import { accessorShard, shardNumbers } from "../../listing/accessor-shards.ts";
import { type Installation, installationAgeMs } from "../../system/installation.ts";
import { systemOf } from "../../system/system.ts";
import { tidyOf } from "../../tidy/tidy.ts";
import { injectedReply, plainReply } from "../../wire/reply.ts";
import { view } from "../../wire/view.ts";

/** The version of the reference whose interface Grove implements. Clients enable features by it. */
const API_VERSION = "2.6.2";

const CLUSTER_NAME = "grove";

type ServiceState = ReturnType<typeof serviceStateOf>;

/** Returns the public state of the installation. `sealKeyVersion` is that of the seal key that wraps the key ring. */
export function serviceStateOf(loaded: Result<Installation>) {
  if (loaded.ok) {
    const { clusterId, sealKeyVersion } = loaded.value;
    return { initialized: true, sealed: false, clusterId, sealKeyVersion };
  }
  return { initialized: loaded.error.code !== "uninitialized", sealed: true, clusterId: "", sealKeyVersion: 0 };
}

/** Maximum time in which an object has to answer. */
const PROBE_MS = 3_000;

/** Names of the objects that did not answer. Requests share it: they need no token, so not each may call objects. */
const probe = new SingleFlight<readonly string[]>(5_000, PROBE_MS);

/** Calls the objects that every request may need, and returns the names of those that do not answer. */
export async function failingObjects(env: Env): Promise<string[]> {
  const probes: readonly (readonly [name: string, ask: () => Promise<unknown>])[] = [
    ["system", () => systemOf(env).findMount("token/")],
    ["identity", () => identityOf(env).shards()],
    ["tidy", () => tidyOf(env).status()],
    ...shardNumbers().map(
      (number) => [`accessor shard ${number}`, () => accessorShard(env, number).countLeases(1)] as const,
    ),
  ];
  const answers = await Promise.allSettled(probes.map(async ([, ask]) => inTime(ask(), PROBE_MS)));
  return probes.flatMap(([name], at) => (answers[at]?.status === "rejected" ? [name] : []));
}

const HEALTH_VIEW = view<{ readonly state: ServiceState; readonly version: string; readonly now: Ms }>({
  initialized: ["boolean", ({ state }) => state.initialized],
  sealed: ["boolean", ({ state }) => state.sealed],
  standby: ["boolean", ({ state }) => state.sealed],
  performance_standby: ["boolean", () => false],
  replication_performance_mode: ["string", ({ state }) => replicationMode(state)],
  replication_dr_mode: ["string", ({ state }) => replicationMode(state)],
  server_time_utc: ["integer", ({ now }) => Math.floor(now / 1000)],
  version: ["string", () => API_VERSION],
  grove_version: ["string", ({ version }) => version],
  // Only while this isolate uses a copy beyond its maximum age, because the owner of the data does not answer.
  "grove_stale_seconds?": ["integer", ({ now }) => staleSeconds(now)],
  "snapshot_age_seconds?": ["number", ({ state, now }) => (state.sealed ? undefined : installationAgeMs(now) / 1000)],
  "failing_objects?": [["string"], ({ state }) => (state.sealed ? undefined : (probe.last?.value ?? []))],
  "cluster_name?": ["string", ({ state }) => (state.sealed ? undefined : CLUSTER_NAME)],
  "cluster_id?": ["string", ({ state }) => (state.sealed ? undefined : state.clusterId)],
});

function replicationMode({ sealed }: ServiceState): string {
  return sealed ? "unknown" : "disabled";
}

function staleSeconds(now: Ms): number | undefined {
  const stale = staleCopyAgeMs(now);
  return stale === null ? undefined : Math.floor(stale / 1000);
}

/** Whether requests can be served now. `failing` is null while the service is sealed. */
const READY_VIEW = view<{ readonly state: ServiceState; readonly version: string; readonly failing: Failing }>({
  ready: ["boolean", ({ failing }) => isReady(failing)],
  initialized: ["boolean", ({ state }) => state.initialized],
  sealed: ["boolean", ({ state }) => state.sealed],
  failing_objects: [["string"], ({ failing }) => failing?.value ?? []],
  checked_at: ["string | null", ({ failing }) => formatTime(failing?.readAt ?? null)],
  grove_version: ["string", ({ version }) => version],
});

type Failing = typeof probe.last;

function isReady(failing: Failing): boolean {
  return failing !== null && failing.value.length === 0;
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

/**
 * Whether the service works, for load balancers and monitors; the state of the seal; and the endpoints for clients of a
 * cluster: Grove is a cluster of one node. Most need no token.
 */
export const STATUS_ROUTES: readonly Route[] = [
  openRoute(["read", "head"], "sys/health", {
    summary: "Shows whether the service works, also by the status.",
    operationId: "read-health-status",
    fields: {
      activecode: { shape: "integer", description: "The status when the service works; 200 by default" },
      uninitcode: { shape: "integer", description: "The status when it is not initialized; 501 by default" },
      sealedcode: { shape: "integer", description: "The status when it is sealed; 503 by default" },
    },
    answers: [200, 501, 503].map((status) => plainAnswer(HEALTH_VIEW.shape, status)),
    handle: async ({ env, request, loaded }) => {
      const state = serviceStateOf(loaded);
      const { activecode, sealedcode, uninitcode } = request.data;
      const active = readStatus(activecode, 200);
      const uninitialized = readStatus(uninitcode, 501);
      const sealed = readStatus(sealedcode, 503);
      // All are checked, also those that do not apply now: else a mistake would show only when the service fails.
      if (active === null || uninitialized === null || sealed === null) {
        return refuse("status codes are whole numbers from 200 to 599");
      }
      const status = !state.initialized ? uninitialized : state.sealed ? sealed : active;
      const body = HEALTH_VIEW.show({ state, version: groveVersion(env), now: currentTime() });
      return ok({ kind: "plain", status, body });
    },
  }),

  openRoute("read", "sys/ready", {
    summary: "Shows whether requests can be served; 503 while an object does not answer.",
    operationId: "read-readiness",
    answers: [plainAnswer(READY_VIEW.shape), plainAnswer(READY_VIEW.shape, 503)],
    handle: async ({ env, loaded }) => {
      const state = serviceStateOf(loaded);
      const failing = state.sealed ? null : await probe.load(() => failingObjects(env));
      const body = READY_VIEW.show({ state, version: groveVersion(env), failing });
      return ok({ kind: "plain", status: isReady(failing) ? 200 : 503, body });
    },
  }),
  openRoute("read", "sys/seal-status", {
    summary: "Shows whether the service is sealed.",
    operationId: "seal-status",
    answers: plainAnswer(SEAL_VIEW.shape),
    handle: async ({ loaded }) => plainReply(SEAL_VIEW.show(serviceStateOf(loaded))),
  }),
  openRoute("update", "sys/unseal", {
    summary: "Shows whether the service is sealed; there is nothing to unseal.",
    operationId: "unseal",
    fields: {
      key: { shape: "string", description: "Ignored" },
      reset: { shape: "boolean", description: "Ignored" },
      migrate: { shape: "boolean", description: "Ignored" },
    },
    answers: plainAnswer(SEAL_VIEW.shape),
    handle: async ({ loaded }) => plainReply(SEAL_VIEW.show(serviceStateOf(loaded))),
  }),

  openRoute("read", "sys/leader", {
    summary: "Says that there is no leader.",
    operationId: "leader-status",
    answers: plainAnswer({ ha_enabled: "boolean" }),
    handle: async () => plainReply({ ha_enabled: false }),
  }),

  simpleRoute("read", "sys/ha-status", {
    summary: "Shows the only node of the cluster.",
    operationId: "ha-status",
    answers: injectedAnswer({ nodes: [NODE_VIEW.shape] }),
    handle: async ({ request }) => injectedReply({ nodes: [NODE_VIEW.show(new URL(request.baseUrl()))] }),
  }),
];

/** Reads a status from the query: a number with three digits; null for any other value. */
function readStatus(code: unknown, otherwise: number): number | null {
  if (code === undefined) return otherwise;
  return /^[2-5][0-9]{2}$/.test(String(code)) ? Number(code) : null;
}
