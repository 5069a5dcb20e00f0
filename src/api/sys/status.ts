import * as z from "zod";
import { initialize } from "../../auth/initialize.ts";
import { openRoute, type RequestContext, type Route, simpleRoute } from "../../auth/route.ts";
import { injectedAnswer, plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { formatRfc3339 } from "../../base/rfc3339.ts";
import { groveVersion } from "../../base/version.ts";
import { equalBytes } from "../../crypto/bytes.ts";
import type { Env } from "../../env.ts";
import { installationAgeMs, loadInstallation, staleCopyAgeMs } from "../../system/installation.ts";
import type { Reply } from "../../wire/reply.ts";
import type { Shape } from "../../wire/shape.ts";
import { lastReadiness, readiness } from "./readiness.ts";

/**
 * The version that clients see. They enable features by it and know only versions of the reference server, so it is the
 * version whose interface Grove implements.
 */
export const API_VERSION = "2.6.2";

const CLUSTER_NAME = "grove";

const NEEDS_INIT_TOKEN: Failure = {
  code: "forbidden",
  message: "sys/init needs the secret GROVE_INIT_TOKEN of this deployment as its token",
};

const encode = (text: string) => new TextEncoder().encode(text);

const HEALTH_SHAPE: Shape = {
  initialized: "boolean",
  sealed: "boolean",
  standby: "boolean",
  performance_standby: "boolean",
  replication_performance_mode: "string",
  replication_dr_mode: "string",
  server_time_utc: "integer",
  version: "string",
  grove_version: "string",
  "grove_stale_seconds?": "integer",
  "snapshot_age_seconds?": "number",
  "failing_objects?": ["string"],
  "cluster_name?": "string",
  "cluster_id?": "string",
};
const READY_SHAPE: Shape = {
  ready: "boolean",
  initialized: "boolean",
  sealed: "boolean",
  failing_objects: ["string"],
  checked_at: "string | null",
  grove_version: "string",
};
/** The usual statuses: the service works, is not initialized, is sealed. */
const HEALTH_ANSWERS = [200, 501, 503].map((status) => plainAnswer(HEALTH_SHAPE, status));
const HEALTH_FIELDS = {
  activecode: { shape: "integer", description: "The status when the service works; 200 unless said" },
  uninitcode: { shape: "integer", description: "The status when it is not initialized; 501 unless said" },
  sealedcode: { shape: "integer", description: "The status when it is sealed; 503 unless said" },
} as const;
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
const NODE_SHAPE: Shape = {
  hostname: "string",
  api_address: "string",
  cluster_address: "string",
  active_node: "boolean",
  last_echo: "string | null",
  version: "string",
};
/** Clients of the reference send these; Grove has no unseal keys. */
const INIT_FIELDS = {
  secret_shares: { shape: "integer", description: "Not used" },
  secret_threshold: { shape: "integer", description: "Not used" },
  pgp_keys: { shape: ["string"], description: "Not used" },
  root_token_pgp_key: { shape: "string", description: "Not used" },
  recovery_shares: { shape: "integer", description: "Not used" },
  recovery_threshold: { shape: "integer", description: "Not used" },
  recovery_pgp_keys: { shape: ["string"], description: "Not used" },
} as const;

/** State of the service, readable without a token, and its initialisation. */
export const STATUS_ROUTES: readonly Route[] = [
  openRoute(
    "read",
    "sys/init",
    {
      summary: "Tells whether the service is initialized.",
      operationId: "read-initialization-status",
      fields: {},
      answers: plainAnswer({ initialized: "boolean" }),
    },
    async ({ env }) => plain({ initialized: (await readState(env)).initialized }),
  ),

  openRoute(
    "update",
    "sys/init",
    {
      summary: "Initializes the service, once, and answers the root token.",
      operationId: "initialize-system",
      fields: INIT_FIELDS,
      answers: plainAnswer({ keys: ["string"], keys_base64: ["string"], root_token: "string" }),
    },
    async ({ env, request }) => {
      if (!mayInitialize(env, request.token)) return err(NEEDS_INIT_TOKEN);
      const root = await initialize(env, "");
      // No unseal keys exist: the seal key is the deployment's secret. Clients expect the lists all the same.
      return root.ok ? plain({ keys: [], keys_base64: [], root_token: root.value }) : root;
    },
  ),

  openRoute(
    ["read", "head"],
    "sys/health",
    {
      summary: "Tells whether the service works, by its status too.",
      operationId: "read-health-status",
      fields: HEALTH_FIELDS,
      answers: HEALTH_ANSWERS,
    },
    health,
  ),

  openRoute(
    "read",
    "sys/ready",
    {
      summary: "Tells whether requests can be served now, by its status too: 503 while an object does not answer.",
      operationId: "read-readiness",
      fields: {},
      answers: [plainAnswer(READY_SHAPE), plainAnswer(READY_SHAPE, 503)],
    },
    ready,
  ),

  openRoute(
    "read",
    "sys/seal-status",
    {
      summary: "Tells whether the service is sealed.",
      operationId: "seal-status",
      fields: {},
      answers: plainAnswer(SEAL_SHAPE),
    },
    async ({ env }) => plain(await sealStatus(env)),
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
    async ({ env }) => plain(await sealStatus(env)),
  ),

  openRoute(
    "read",
    "sys/leader",
    {
      summary: "Tells that there is no leader: every instance of the Worker is the same.",
      operationId: "leader-status",
      fields: {},
      answers: plainAnswer({ ha_enabled: "boolean" }),
    },
    async () => plain({ ha_enabled: false }),
  ),

  simpleRoute(
    "read",
    "sys/ha-status",
    {
      summary: "Shows the one node that clients of a cluster see.",
      operationId: "ha-status",
      answers: injectedAnswer({ nodes: [NODE_SHAPE] }),
    },
    z.object({}),
    async ({ request }) => ok({ kind: "data", data: { nodes: [nodeAt(request.baseUrl)] }, inject: true }),
  ),

  // How clients of the Terraform ecosystem find the interface of teams: service ids and the base path of each.
  openRoute(
    "read",
    ".well-known/terraform.json",
    {
      summary: "Tells clients of the Terraform ecosystem where the interface of teams is.",
      operationId: "terraform-discovery",
      fields: {},
      answers: plainAnswer({ "*": "string" }),
    },
    async () => plain({ "tfe.v2": TEAMS_BASE, "tfe.v2.1": TEAMS_BASE, "tfe.v2.2": TEAMS_BASE }),
  ),
];

/** Base path of the interface of teams. */
const TEAMS_BASE = "/api/v2/";

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

/** A deployment is reachable before its operator gets to `sys/init`; without a secret whoever calls first gets root. */
function mayInitialize(env: Env, token: string): boolean {
  return !env.GROVE_INIT_TOKEN || equalBytes(encode(token), encode(env.GROVE_INIT_TOKEN));
}

interface State {
  readonly initialized: boolean;
  readonly sealed: boolean;
  readonly clusterId: string;
  /** The version of the seal key that wraps the key ring; 0 while sealed. */
  readonly sealKeyVersion: number;
}

/** The state as this isolate knows it: anybody may ask, so asking must not reach an object every time. */
async function readState(env: Env): Promise<State> {
  const loaded = await loadInstallation(env);
  if (loaded.ok) {
    const { clusterId, sealKeyVersion } = loaded.value;
    return { initialized: true, sealed: false, clusterId, sealKeyVersion };
  }
  return { initialized: loaded.error.code !== "uninitialized", sealed: true, clusterId: "", sealKeyVersion: 0 };
}

/** Whether requests can be served now: the service works, and so do the objects behind it. */
async function ready({ env }: RequestContext): Promise<Result<Reply, Failure>> {
  const { initialized, sealed } = await readState(env);
  const objects = sealed ? null : await readiness(env);
  const failing = objects?.failing ?? [];
  const isReady = !sealed && failing.length === 0;
  return ok({
    kind: "plain",
    status: isReady ? 200 : 503,
    body: {
      ready: isReady,
      initialized,
      sealed,
      failing_objects: failing,
      checked_at: objects && formatRfc3339(objects.checkedAt),
      grove_version: groveVersion(env),
    },
  });
}

async function health({ env, request }: RequestContext): Promise<Result<Reply, Failure>> {
  const { initialized, sealed, clusterId } = await readState(env);
  const { activecode, sealedcode, uninitcode } = request.data;
  const [code, otherwise] = !initialized ? [uninitcode, 501] : sealed ? [sealedcode, 503] : [activecode, 200];
  const status = readStatus(code, otherwise);
  if (status === null) return err(invalid("status codes are whole numbers from 200 to 599"));
  const mode = sealed ? "unknown" : "disabled";
  const now = currentTime();
  const stale = staleCopyAgeMs(env, now);
  return ok({
    kind: "plain",
    status,
    body: {
      initialized,
      sealed,
      standby: sealed,
      performance_standby: false,
      replication_performance_mode: mode,
      replication_dr_mode: mode,
      server_time_utc: Math.floor(now / 1000),
      version: API_VERSION,
      grove_version: groveVersion(env),
      // Only while policies, mounts and keys can't be read anew.
      ...(stale !== null && { grove_stale_seconds: Math.floor(stale / 1000) }),
      ...(!sealed && { snapshot_age_seconds: installationAgeMs(currentTime()) / 1000 }),
      ...(!sealed && { failing_objects: lastReadiness()?.failing ?? [] }),
      ...(!sealed && { cluster_name: CLUSTER_NAME, cluster_id: clusterId }),
    },
  });
}

function readStatus(code: unknown, otherwise: number): number | null {
  if (code === undefined) return otherwise;
  const status = Number(code);
  return Number.isInteger(status) && status >= 200 && status <= 599 ? status : null;
}

async function sealStatus(env: Env): Promise<Record<string, unknown>> {
  const { initialized, sealed, clusterId, sealKeyVersion } = await readState(env);
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

function plain(body: Record<string, unknown>): Result<Reply, never> {
  return ok({ kind: "plain", status: 200, body });
}
