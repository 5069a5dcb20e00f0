import { readRoute } from "../../../auth/record-routes.ts";
import { type OpenContext, type RequestContext, type Route, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { formatRfc3339 } from "../../../base/rfc3339.ts";
import { groveVersion } from "../../../base/version.ts";
import { countEntities } from "../../../identity/entities.ts";
import { countByMount } from "../../../listing/inventory/queries.ts";
import { metricsObject, prometheusText } from "../../../metrics/family.ts";
import { isolateFamilies } from "../../../metrics/isolate-families.ts";
import type { Installation } from "../../../system/installation.ts";
import { fieldSchema, text } from "../../../wire/fields.ts";
import { dataReply, plainReply, type Reply } from "../../../wire/reply.ts";
import { installationFamilies, installationFigures, stateFamilies } from "./installation-figures.ts";

const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

/** Numbers for operators: of this isolate, which self-hosted is the whole server, and of the installation. */
export const METRICS_ROUTES: readonly Route[] = [
  tokenRoute(
    "read",
    "sys/metrics",
    {
      summary: "Answers metrics, for Prometheus or as JSON.",
      operationId: "metrics",
      answers: [
        {
          kind: "plain",
          status: 200,
          body: {
            Timestamp: "string",
            Gauges: ["object"],
            Points: ["object"],
            Counters: ["object"],
            Samples: ["object"],
          },
        },
      ],
    },
    fieldSchema({ format: text().describe("`prometheus` for its text format; JSON unless said") }),
    {
      openHandler: (env) => (env.METRICS_UNAUTHENTICATED === "true" ? openMetrics : null),
      prepare: async () => ok(null),
      handle: async (context) => metrics(context, context.installation),
    },
  ),

  readRoute(
    "sys/internal/counters/tokens",
    {
      summary: "Counts the service tokens.",
      operationId: "internal-count-tokens",
      answers: dataAnswer({ counters: { service_tokens: { total: "integer" } } }),
    },
    async ({ env }) => {
      const total = (await countByMount(env, "tokens")).reduce((sum, { count }) => sum + count, 0);
      return ok(dataReply({ counters: { service_tokens: { total } } }));
    },
  ),

  readRoute(
    "sys/internal/counters/entities",
    {
      summary: "Counts the entities.",
      operationId: "internal-count-entities",
      answers: dataAnswer({ counters: { entities: { total: "integer" } } }),
    },
    async ({ env }) =>
      ok(dataReply({ counters: { entities: { total: await countEntities(env, Number.MAX_SAFE_INTEGER) } } })),
  ),
];

const openMetrics = (context: OpenContext) => metrics(context, context.loaded.ok ? context.loaded.value : null);

async function metrics(
  { env, request }: RequestContext,
  installation: Installation | null,
): Promise<Result<Reply, Failure>> {
  const { format } = request.data;
  if (format !== undefined && format !== "" && format !== "prometheus")
    return err(invalid("format is prometheus or none"));
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
