import { type Answered, type RequestContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { dataAnswer, plainAnswer } from "../../auth/route-description.ts";
import { backupRunsOf } from "../../backup/bucket/backup-runs.ts";
import { currentTime, formatRfc3339, isWithin, type Ms } from "../../base/clock.ts";
import { ok, okUnless, refuse } from "../../base/result.ts";
import { SingleFlight } from "../../base/single-flight.ts";
import { groveVersion } from "../../base/version.ts";
import type { Env } from "../../env.ts";
import { countEntities } from "../../identity/read-entity.ts";
import { countIrrevocable, countLeases } from "../../lease/queries.ts";
import { type GroupCount, NEVER_KEY } from "../../listing/inventory/index-terms.ts";
import { countByGroup, countByMount, type GroupCounts } from "../../listing/inventory/queries.ts";
import { type Family, metricsObject, prometheusText, type Sample, single } from "../../metrics/family.ts";
import { isolateFamilies } from "../../metrics/isolate-families.ts";
import { type Installation, installationAgeMs } from "../../system/installation.ts";
import type { LiveCounts } from "../../tidy/metrics-history.ts";
import { tidyOf } from "../../tidy/tidy.ts";
import { fieldSchema } from "../../wire/field-schema.ts";
import { text } from "../../wire/fields.ts";
import { dataReply, plainReply } from "../../wire/reply.ts";
import { byMountPath, sumOfCounts } from "./tokens/token-view.ts";

const MAX_AGE_MS = 30_000;
/** The figures of the installation: to read them takes some hundred calls to objects. */
const reading = new SingleFlight<InstallationFigures>(MAX_AGE_MS, 10_000);

/** Maximum number of policies with a sample: the policies with the most tokens. */
const MAX_POLICIES = 200;
const MAX_ENTITIES = 100_000;

const HOUR_MS = 3_600_000;
/** Times from now on, in hours, within which ends of tokens are counted. */
const SPANS = Object.entries({ "1h": 1, "1d": 24, "7d": 168, "30d": 720 });

/** Numbers of the whole installation, all read at about the same time. */
type InstallationFigures = Awaited<ReturnType<typeof readFigures>>;

/** Tokens and leases as `sys/metrics` read them within the last minute; null: it did not. Costs no call. */
export function lastLiveCounts(now: Ms): LiveCounts | null {
  const { last } = reading;
  if (!last || !isWithin(last.readAt, 2 * MAX_AGE_MS, now)) return null;
  return { tokens: sumOfCounts(last.value.tokensByMount), leases: last.value.leases };
}

/** Counts tokens and leases now, in two calls to each shard. */
export async function countLive(env: Env): Promise<LiveCounts> {
  return { tokens: sumOfCounts(await countByMount(env, "tokens")), leases: await countLeases(env) };
}

async function readFigures(env: Env, installation: Installation) {
  // One after the other: each call asks every shard, and a scrape can wait.
  const byMount = await countByMount(env, "tokens");
  const byPolicy = await countByGroup(env, "policy", null);
  const byEnd = await countByGroup(env, "end_hour", null);
  const irrevocable = await countIrrevocable(env);
  const { last } = await tidyOf(env).status();
  return {
    tokensByMount: byMountPath(byMount, installation),
    tokensByPolicy: byPolicy.groups.slice(0, MAX_POLICIES),
    tokensByEnd: byEnd,
    leases: await countLeases(env),
    irrevocableLeases: Object.values(irrevocable).reduce((sum, count) => sum + count, 0),
    entities: await countEntities(env, MAX_ENTITIES),
    // The start of the last good backup into the bucket; null: there is none.
    backedUpAt: env.BACKUPS ? ((await backupRunsOf(env).status()).lastGood?.startedAt ?? null) : null,
    // The end of the last tidy run; null before the first.
    tidiedAt: last?.finishedAt ?? null,
    tidyFailures: last?.report.failures ?? 0,
    // Rows whose seal was wrong in the last tidy run.
    tamperedRows: last?.report.tampered ?? 0,
  };
}

export function installationFamilies(figures: InstallationFigures, now: Ms): Family[] {
  const { tokensByMount, tokensByPolicy, tokensByEnd } = figures;
  const tokens = sumOfCounts(tokensByMount);
  const never = tokensByEnd.groups.find(({ key }) => key === NEVER_KEY)?.count ?? 0;
  const age = (at: Ms | null) => (at === null ? null : Math.max(0, now - at) / 1000);
  return [
    gauge("vault_token_count", "Service tokens.", tokens),
    grouped("vault_token_count_by_auth", "Service tokens by mount.", "auth_method", tokensByMount),
    grouped(
      "vault_token_count_by_policy",
      "Service tokens by policy, of those of most tokens.",
      "policy",
      tokensByPolicy,
    ),
    grouped(
      "grove_token_count_by_end",
      "Service tokens by the time that is left to their end.",
      "within",
      byEnd(tokensByEnd, now),
    ),
    gauge(
      "vault_expire_num_leases",
      "Leases of tokens that end, and of secrets (up to 10,000 in each shard).",
      figures.leases + tokens - never,
    ),
    gauge("vault_expire_num_irrevocable_leases", "Leases that could not be revoked.", figures.irrevocableLeases),
    gauge("vault_identity_num_entities", "Entities, counted up to 100,000.", figures.entities),
    gauge("grove_tidy_age_seconds", "Time since the last tidy run ended.", age(figures.tidiedAt)),
    gauge(
      "grove_backup_age_seconds",
      "Time since the last good backup into the bucket was begun.",
      age(figures.backedUpAt),
    ),
    gauge("grove_tidy_failures", "Faults in the last tidy run.", figures.tidyFailures),
    gauge("grove_tampered_rows", "Rows that the last tidy run found tampered with.", figures.tamperedRows),
  ];
}

/** Returns the metrics that need no call to an object. */
export function stateFamilies(installation: Installation | null, version: string, now: Ms): Family[] {
  const works = installation ? 1 : 0;
  return [
    grouped("grove_build_info", "The version of Grove.", "version", [{ key: version, count: 1 }]),
    gauge("vault_core_unsealed", "1 while the service works, 0 while it is sealed or not initialized.", works),
    gauge("vault_core_active", "1 while the service works.", works),
    gauge(
      "grove_snapshot_age_seconds",
      "Age of the policies, mounts and keys that this isolate works with.",
      installation && installationAgeMs(now) / 1000,
    ),
    gauge("grove_key_term", "The term of the keys in use.", installation?.keys.terms[0].version ?? null),
  ];
}

function gauge(name: string, help: string, value: number | null): Family {
  return single("gauge", name, help, value);
}

function grouped(name: string, help: string, label: string, groups: readonly GroupCount[]): Family {
  return {
    name,
    help,
    type: "gauge",
    samples: groups.map(({ key, count }): Sample => ({ labels: { [label]: key }, value: count })),
  };
}

/** Counts the tokens that end within each span and not within a shorter one. Tokens in other groups end later. */
function byEnd({ groups, total }: GroupCounts, now: Ms): GroupCount[] {
  const counts = new Map(SPANS.map(([name]) => [name, 0]));
  let never = 0;
  for (const { key, count } of groups) {
    const [span] = SPANS.find(([, hours]) => Date.parse(key) < now + hours * HOUR_MS) ?? [];
    if (key === NEVER_KEY) never += count;
    else if (span) counts.set(span, (counts.get(span) ?? 0) + count);
  }
  const spans = [...counts].map(([key, count]) => ({ key, count }));
  const later = Math.max(0, total - sumOfCounts(spans) - never);
  return [...spans, { key: "later", count: later }, { key: "never", count: never }];
}

const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

/** Metrics of this isolate, which is the whole server when self-hosted, and of the installation. */
export const METRICS_ROUTES: readonly Route[] = [
  tokenRoute("read", "sys/metrics", {
    summary: "Returns metrics, for Prometheus or as JSON.",
    operationId: "metrics",
    answers: plainAnswer({
      Timestamp: "string",
      Gauges: ["object"],
      Points: ["object"],
      Counters: ["object"],
      Samples: ["object"],
    }),
    input: fieldSchema({ format: text().describe("`prometheus` for its text format; JSON by default") }),
    openHandler: (env) =>
      env.METRICS_UNAUTHENTICATED === "true"
        ? (context) => metrics(context, context.loaded.ok ? context.loaded.value : null)
        : null,
    prepare: async ({ fields: { format } }) => okUnless(formatProblem(format), null),
    handle: (context) => metrics(context, context.installation),
  }),

  simpleRoute("read", "sys/internal/counters/tokens", {
    summary: "Counts the service tokens.",
    operationId: "internal-count-tokens",
    answers: dataAnswer({ counters: { service_tokens: { total: "integer" } } }),
    handle: async ({ env }) => {
      const total = sumOfCounts(await countByMount(env, "tokens"));
      return dataReply({ counters: { service_tokens: { total } } });
    },
  }),

  simpleRoute("read", "sys/internal/counters/entities", {
    summary: "Counts the entities.",
    operationId: "internal-count-entities",
    answers: dataAnswer({ counters: { entities: { total: "integer" } } }),
    handle: async ({ env }) =>
      dataReply({ counters: { entities: { total: await countEntities(env, Number.MAX_SAFE_INTEGER) } } }),
  }),
];

async function metrics({ env, request }: RequestContext, installation: Installation | null): Answered {
  const { format = "" } = request.data;
  const problem = formatProblem(format);
  if (problem) return refuse(problem);
  const now = currentTime();
  const read = installation && (await reading.load(() => readFigures(env, installation)));
  const families = [
    ...stateFamilies(installation, groveVersion(env), now),
    ...isolateFamilies(),
    ...(read ? installationFamilies(read.value, now) : []),
  ];
  return format === "prometheus"
    ? ok({ kind: "text", status: 200, mediaType: PROMETHEUS, text: prometheusText(families) })
    : plainReply(metricsObject(families, formatRfc3339(now)));
}

function formatProblem(format: unknown): string | null {
  return format === "" || format === "prometheus" ? null : "format is prometheus or none";
}
