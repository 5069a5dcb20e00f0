import { type OpenContext, openRoute, type Route } from "../../../auth/route.ts";
import { plainAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { formatRfc3339 } from "../../../base/rfc3339.ts";
import { groveVersion } from "../../../base/version.ts";
import { staleCopyAgeMs } from "../../../system/copy-source.ts";
import { installationAgeMs } from "../../../system/installation.ts";
import type { Reply } from "../../../wire/reply.ts";
import type { Shape } from "../../../wire/shape.ts";
import { lastReadiness, readiness } from "./readiness.ts";
import { API_VERSION, CLUSTER_NAME, stateOf } from "./state.ts";

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

/** Whether the service works, for load balancers and monitors. No token is needed. */
export const HEALTH_ROUTES: readonly Route[] = [
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
];

/** Whether requests can be served now: the service works, and so do the objects behind it. */
async function ready({ env, loaded }: OpenContext): Promise<Result<Reply, Failure>> {
  const { initialized, sealed } = stateOf(loaded);
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

async function health({ env, request, loaded }: OpenContext): Promise<Result<Reply, Failure>> {
  const { initialized, sealed, clusterId } = stateOf(loaded);
  const { activecode, sealedcode, uninitcode } = request.data;
  const [active, without, closed] = [
    readStatus(activecode, 200),
    readStatus(uninitcode, 501),
    readStatus(sealedcode, 503),
  ];
  // Also one that does not count now: a probe with a mistake must not come to light on the day that something is wrong.
  if (active === null || without === null || closed === null) {
    return err(invalid("status codes are whole numbers from 200 to 599"));
  }
  const status = !initialized ? without : sealed ? closed : active;
  const mode = sealed ? "unknown" : "disabled";
  const now = currentTime();
  const stale = staleCopyAgeMs(now);
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
      // Only while policies, mounts and keys, or what a cloud mount is configured with, can't be read again.
      ...(stale !== null && { grove_stale_seconds: Math.floor(stale / 1000) }),
      ...(!sealed && { snapshot_age_seconds: installationAgeMs(currentTime()) / 1000 }),
      ...(!sealed && { failing_objects: lastReadiness()?.failing ?? [] }),
      ...(!sealed && { cluster_name: CLUSTER_NAME, cluster_id: clusterId }),
    },
  });
}

/** A status that the query gives, in decimal digits; null when it gives something else. */
function readStatus(code: unknown, otherwise: number): number | null {
  if (code === undefined) return otherwise;
  return /^[2-5][0-9]{2}$/.test(String(code)) ? Number(code) : null;
}
