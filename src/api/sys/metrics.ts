import { readRoute } from "../../auth/record-routes.ts";
import { type Answered, type OpenContext, type RequestContext, type Route, tokenRoute } from "../../auth/route.ts";
import { dataAnswer, plainAnswer } from "../../auth/route-description.ts";
import { backupRunsOf } from "../../backup/bucket/backup-runs.ts";
import { currentTime, formatRfc3339, isWithin } from "../../base/clock.ts";
import { ok, refuse } from "../../base/result.ts";
import { groveVersion } from "../../base/version.ts";
import type { Env } from "../../env.ts";
import { countEntities } from "../../identity/entities.ts";
import { countIrrevocable, countLeases } from "../../lease/queries.ts";
import type { GroupCount } from "../../listing/inventory/group-sums.ts";
import { countByGroup, countByMount, type GroupCounts } from "../../listing/inventory/queries.ts";
import { NEVER_KEY } from "../../listing/inventory/terms.ts";
import { type Family, metricsObject, prometheusText, type Sample, single } from "../../metrics/family.ts";
import { isolateFamilies } from "../../metrics/isolate-families.ts";
import { type Installation, installationAgeMs } from "../../system/installation.ts";
import { tidyOf } from "../../tidy/tidy.ts";
import { fieldSchema, text } from "../../wire/fields.ts";
import { dataReply, plainReply } from "../../wire/reply.ts";
import { byMountPath, sumOfCounts } from "./tokens/token-view.ts";

/** How long an isolate answers the same figures of the installation, in ms: asking again takes some hundred calls to objects. */
const MAX_AGE_MS = 30_000;
/** A request can end with its client before it has read the figures; after so long (ms) another one tries. */
const READING_MS = 10_000;
/** Policies that have a sample of their own, those of most tokens first. */
const MAX_POLICIES = 200;

/** Entities that are counted. */
const MAX_ENTITIES = 100_000;

const HOUR_MS = 3_600_000;
/** Spans, from now on, in which ends of tokens are counted. */
const SPANS: readonly (readonly [name: string, hours: number])[] = [
  ["1h", 1],
  ["1d", 24],
  ["7d", 168],
  ["30d", 720],
];

/** What the objects of the installation count, all read at about one moment. */
interface InstallationFigures {
  readonly tokensByMount: readonly GroupCount[];
  readonly tokensByPolicy: readonly GroupCount[];
  readonly tokensByEnd: GroupCounts;
  readonly leases: number;
  readonly irrevocableLeases: number;
  readonly entities: number;
  /** ms; null while no run has ended. */
  readonly tidiedAt: number | null;
  readonly tidyFailures: number;
  /** When the last good backup into the bucket was begun (ms); null without one, and without a bucket. */
  readonly backedUpAt: number | null;
  /** Rows that the last run found tampered with. */
  readonly tamperedRows: number;
}

let known: { readonly figures: InstallationFigures; readonly readAt: number } | null = null;
let readingSince = Number.NEGATIVE_INFINITY;

/**
 * The figures of the installation, at most half a minute old. Of many requests at once one reads them again; the others
 * get the previous ones.
 */
async function installationFigures(env: Env, installation: Installation): Promise<InstallationFigures> {
  const now = currentTime();
  if (known && (isWithin(known.readAt, MAX_AGE_MS, now) || isWithin(readingSince, READING_MS, now)))
    return known.figures;
  readingSince = now;
  try {
    known = { figures: await readFigures(env, installation), readAt: now };
    return known.figures;
  } finally {
    readingSince = Number.NEGATIVE_INFINITY;
  }
}

async function readFigures(env: Env, installation: Installation): Promise<InstallationFigures> {
  // One after the other: each asks every shard, and no request waits for a scrape.
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
    backedUpAt: env.BACKUPS ? ((await backupRunsOf(env).status()).lastGood?.startedAt ?? null) : null,
    tidiedAt: last?.finishedAt ?? null,
    tidyFailures: last?.report.failures ?? 0,
    tamperedRows: last?.report.tampered ?? 0,
  };
}

/** The figures as metrics. `now` in ms. */
export function installationFamilies(figures: InstallationFigures, now: number): Family[] {
  const { tokensByMount, tokensByPolicy, tokensByEnd, leases, irrevocableLeases, entities, tidiedAt, backedUpAt } =
    figures;
  const tokens = sumOfCounts(tokensByMount);
  const never = tokensByEnd.groups.find(({ key }) => key === NEVER_KEY)?.count ?? 0;
  return [
    single("gauge", "vault_token_count", "Service tokens.", tokens),
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
    single(
      "gauge",
      "vault_expire_num_leases",
      "Leases of tokens that end, and of secrets (up to 10,000 in each shard).",
      leases + tokens - never,
    ),
    single("gauge", "vault_expire_num_irrevocable_leases", "Leases that could not be revoked.", irrevocableLeases),
    single("gauge", "vault_identity_num_entities", "Entities, counted up to 100,000.", entities),
    single(
      "gauge",
      "grove_tidy_age_seconds",
      "Time since the last tidy run ended.",
      tidiedAt === null ? null : Math.max(0, now - tidiedAt) / 1000,
    ),
    single(
      "gauge",
      "grove_backup_age_seconds",
      "Time since the last good backup into the bucket was begun.",
      backedUpAt === null ? null : Math.max(0, now - backedUpAt) / 1000,
    ),
    single("gauge", "grove_tidy_failures", "Faults in the last tidy run.", figures.tidyFailures),
    single("gauge", "grove_tampered_rows", "Rows that the last tidy run found tampered with.", figures.tamperedRows),
  ];
}

/** What is known without asking an object. */
export function stateFamilies(installation: Installation | null, version: string, now: number): Family[] {
  return [
    grouped("grove_build_info", "The version of Grove.", "version", [{ key: version, count: 1 }]),
    single(
      "gauge",
      "vault_core_unsealed",
      "1 while the service works, 0 while it is sealed or not initialized.",
      installation ? 1 : 0,
    ),
    single("gauge", "vault_core_active", "1 while the service works.", installation ? 1 : 0),
    single(
      "gauge",
      "grove_snapshot_age_seconds",
      "Age of the policies, mounts and keys that this isolate works with.",
      installation && installationAgeMs(now) / 1000,
    ),
    single("gauge", "grove_key_term", "The term of the keys in use.", installation?.keys.terms[0].version ?? null),
  ];
}

function grouped(name: string, help: string, label: string, groups: readonly GroupCount[]): Family {
  return {
    name,
    help,
    type: "gauge",
    samples: groups.map(({ key, count }): Sample => ({ labels: { [label]: key }, value: count })),
  };
}

/** Tokens that end within each span and not within the one before. Those that are in no group of their own end later. */
function byEnd({ groups, total }: GroupCounts, now: number): GroupCount[] {
  const counts = new Map(SPANS.map(([name]) => [name, 0]));
  let never = 0;
  let counted = 0;
  for (const { key, count } of groups) {
    if (key === NEVER_KEY) never += count;
    else {
      const span = SPANS.find(([, hours]) => Date.parse(key) < now + hours * HOUR_MS);
      if (!span) continue;
      counts.set(span[0], (counts.get(span[0]) ?? 0) + count);
      counted += count;
    }
  }
  const spans = [...counts].map(([key, count]) => ({ key, count }));
  return [...spans, { key: "later", count: Math.max(0, total - counted - never) }, { key: "never", count: never }];
}

const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

/** Numbers for operators: of this isolate, which self-hosted is the whole server, and of the installation. */
export const METRICS_ROUTES: readonly Route[] = [
  tokenRoute("read", "sys/metrics", {
    summary: "Answers metrics, for Prometheus or as JSON.",
    operationId: "metrics",
    answers: plainAnswer({
      Timestamp: "string",
      Gauges: ["object"],
      Points: ["object"],
      Counters: ["object"],
      Samples: ["object"],
    }),
    input: fieldSchema({ format: text().describe("`prometheus` for its text format; JSON unless said") }),
    openHandler: (env) => (env.METRICS_UNAUTHENTICATED === "true" ? openMetrics : null),
    prepare: async () => ok(null),
    handle: async (context) => metrics(context, context.installation),
  }),

  readRoute("sys/internal/counters/tokens", {
    summary: "Counts the service tokens.",
    operationId: "internal-count-tokens",
    answers: dataAnswer({ counters: { service_tokens: { total: "integer" } } }),
    handle: async ({ env }) => {
      const total = sumOfCounts(await countByMount(env, "tokens"));
      return ok(dataReply({ counters: { service_tokens: { total } } }));
    },
  }),

  readRoute("sys/internal/counters/entities", {
    summary: "Counts the entities.",
    operationId: "internal-count-entities",
    answers: dataAnswer({ counters: { entities: { total: "integer" } } }),
    handle: async ({ env }) =>
      ok(dataReply({ counters: { entities: { total: await countEntities(env, Number.MAX_SAFE_INTEGER) } } })),
  }),
];

const openMetrics = (context: OpenContext) => metrics(context, context.loaded.ok ? context.loaded.value : null);

async function metrics({ env, request }: RequestContext, installation: Installation | null): Answered {
  const { format } = request.data;
  if (format !== undefined && format !== "" && format !== "prometheus") return refuse("format is prometheus or none");
  const now = currentTime();
  const families = [
    ...stateFamilies(installation, groveVersion(env), now),
    ...isolateFamilies(),
    ...(installation ? installationFamilies(await installationFigures(env, installation), now) : []),
  ];
  return format === "prometheus"
    ? ok({ kind: "text", status: 200, mediaType: PROMETHEUS, text: prometheusText(families) })
    : ok(plainReply(metricsObject(families, formatRfc3339(now))));
}
