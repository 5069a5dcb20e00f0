import { type Answered, type OpenContext, openRoute, type Route } from "../../../auth/route.ts";
import { plainAnswer } from "../../../auth/route-description.ts";
import { currentTime, formatTime, inTime, isWithin } from "../../../base/clock.ts";
import { ok, refuse } from "../../../base/result.ts";
import { groveVersion } from "../../../base/version.ts";
import type { Env } from "../../../env.ts";
import { identityOf } from "../../../identity/stubs.ts";
import { accessorShard } from "../../../listing/accessor-shard.ts";
import { shardNumbers } from "../../../listing/accessor-shard-number.ts";
import { staleCopyAgeMs } from "../../../system/copy-source.ts";
import { installationAgeMs } from "../../../system/installation.ts";
import { systemOf } from "../../../system/system.ts";
import { tidyOf } from "../../../tidy/tidy.ts";
import { view } from "../../../wire/view.ts";
import { API_VERSION, CLUSTER_NAME, type ServiceState, stateOf } from "./status.ts";

/** How long an isolate answers what it found last, in ms: anybody may ask, so asking must not reach objects every time. */
const MAX_AGE_MS = 5_000;
/** A request can end with its client before it has an answer; after so long (ms) another one tries. An object that takes longer fails. */
const PROBE_MS = 3_000;

/** What was found when the objects were last asked. */
interface Readiness {
  /** Names of objects that did not answer. */
  readonly failing: readonly string[];
  /** ms. */
  readonly checkedAt: number;
}

/** What was found when this isolate last asked; null when it never did. */
let last: Readiness | null = null;
let probingSince = Number.NEGATIVE_INFINITY;

/** Whether the objects that every request may need do answer: found out at most every five seconds. */
async function readiness(env: Env): Promise<Readiness> {
  const now = currentTime();
  if (last && (isWithin(last.checkedAt, MAX_AGE_MS, now) || isWithin(probingSince, PROBE_MS, now))) return last;
  probingSince = now;
  try {
    last = { failing: await failingObjects(env), checkedAt: now };
    return last;
  } finally {
    probingSince = Number.NEGATIVE_INFINITY;
  }
}

async function failingObjects(env: Env): Promise<string[]> {
  const shards = shardNumbers().map((number): [string, () => Promise<unknown>] => [
    `accessor shard ${number}`,
    () => accessorShard(env, number).countLeases(1),
  ]);
  const probes: readonly [string, () => Promise<unknown>][] = [
    ["system", () => systemOf(env).findMount("token/")],
    ["identity", () => identityOf(env).shards()],
    ["tidy", () => tidyOf(env).status()],
    ...shards,
  ];
  const found = await Promise.all(probes.map(async ([name, ask]) => ((await answers(ask)) ? [] : [name])));
  return found.flat();
}

async function answers(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await inTime(ask(), PROBE_MS);
    return true;
  } catch {
    return false;
  }
}

/** What a health check finds. */
interface Health {
  readonly state: ServiceState;
  readonly version: string;
  /** ms. */
  readonly now: number;
}

const HEALTH_VIEW = view<Health>({
  initialized: ["boolean", ({ state }) => state.initialized],
  sealed: ["boolean", ({ state }) => state.sealed],
  standby: ["boolean", ({ state }) => state.sealed],
  performance_standby: ["boolean", () => false],
  replication_performance_mode: ["string", replicationMode],
  replication_dr_mode: ["string", replicationMode],
  server_time_utc: ["integer", ({ now }) => Math.floor(now / 1000)],
  version: ["string", () => API_VERSION],
  grove_version: ["string", ({ version }) => version],
  // Only while policies, mounts and keys, or what a cloud mount is configured with, can't be read again.
  "grove_stale_seconds?": ["integer", ({ now }) => staleSeconds(now)],
  "snapshot_age_seconds?": ["number", ({ state, now }) => (state.sealed ? undefined : installationAgeMs(now) / 1000)],
  "failing_objects?": [["string"], ({ state }) => (state.sealed ? undefined : (last?.failing ?? []))],
  "cluster_name?": ["string", ({ state }) => (state.sealed ? undefined : CLUSTER_NAME)],
  "cluster_id?": ["string", ({ state }) => (state.sealed ? undefined : state.clusterId)],
});

/** Whether requests can be served now; `objects` is null while the service is sealed. */
interface Ready {
  readonly state: ServiceState;
  readonly version: string;
  readonly objects: Readiness | null;
}

const READY_VIEW = view<Ready>({
  ready: ["boolean", isReady],
  initialized: ["boolean", ({ state }) => state.initialized],
  sealed: ["boolean", ({ state }) => state.sealed],
  failing_objects: [["string"], ({ objects }) => objects?.failing ?? []],
  checked_at: ["string | null", ({ objects }) => formatTime(objects?.checkedAt ?? null)],
  grove_version: ["string", ({ version }) => version],
});

/** The usual statuses: the service works, is not initialized, is sealed. */
const HEALTH_ANSWERS = [200, 501, 503].map((status) => plainAnswer(HEALTH_VIEW.shape, status));
const HEALTH_FIELDS = {
  activecode: { shape: "integer", description: "The status when the service works; 200 unless said" },
  uninitcode: { shape: "integer", description: "The status when it is not initialized; 501 unless said" },
  sealedcode: { shape: "integer", description: "The status when it is sealed; 503 unless said" },
} as const;

/** Whether the service works, for load balancers and monitors. No token is needed. */
export const HEALTH_ROUTES: readonly Route[] = [
  openRoute(["read", "head"], "sys/health", {
    summary: "Tells whether the service works, by its status too.",
    operationId: "read-health-status",
    fields: HEALTH_FIELDS,
    answers: HEALTH_ANSWERS,
    handle: health,
  }),

  openRoute("read", "sys/ready", {
    summary: "Tells whether requests can be served now, by its status too: 503 while an object does not answer.",
    operationId: "read-readiness",
    fields: {},
    answers: [plainAnswer(READY_VIEW.shape), plainAnswer(READY_VIEW.shape, 503)],
    handle: ready,
  }),
];

/** Whether requests can be served now: the service works, and so do the objects behind it. */
async function ready({ env, loaded }: OpenContext): Answered {
  const state = stateOf(loaded);
  const shown = { state, version: groveVersion(env), objects: state.sealed ? null : await readiness(env) };
  return ok({ kind: "plain", status: isReady(shown) ? 200 : 503, body: READY_VIEW.show(shown) });
}

function isReady({ objects }: Ready): boolean {
  return objects !== null && objects.failing.length === 0;
}

async function health({ env, request, loaded }: OpenContext): Answered {
  const state = stateOf(loaded);
  const { activecode, sealedcode, uninitcode } = request.data;
  const [active, without, closed] = [
    readStatus(activecode, 200),
    readStatus(uninitcode, 501),
    readStatus(sealedcode, 503),
  ];
  // Also one that does not count now: a probe with a mistake must not come to light on the day that something is wrong.
  if (active === null || without === null || closed === null) {
    return refuse("status codes are whole numbers from 200 to 599");
  }
  const status = !state.initialized ? without : state.sealed ? closed : active;
  const body = HEALTH_VIEW.show({ state, version: groveVersion(env), now: currentTime() });
  return ok({ kind: "plain", status, body });
}

function replicationMode({ state }: Health): string {
  return state.sealed ? "unknown" : "disabled";
}

function staleSeconds(now: number): number | undefined {
  const stale = staleCopyAgeMs(now);
  return stale === null ? undefined : Math.floor(stale / 1000);
}

/** A status that the query gives, in decimal digits; null when it gives something else. */
function readStatus(code: unknown, otherwise: number): number | null {
  if (code === undefined) return otherwise;
  return /^[2-5][0-9]{2}$/.test(String(code)) ? Number(code) : null;
}
