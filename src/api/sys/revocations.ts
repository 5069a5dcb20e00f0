import { type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { inGroups } from "../../base/parallel.ts";
import { ok } from "../../base/result.ts";
import { formatRfc3339 } from "../../base/rfc3339.ts";
import type { Env } from "../../env.ts";
import { progressOfEnd } from "../../lease/walk.ts";
import type { EndProgress } from "../../lease/walk-job.ts";
import { countOfEntities } from "../../listing/inventory/queries.ts";
import { systemOf } from "../../system/system.ts";
import type { StoredWatermark } from "../../system/watermark-store.ts";
import { entityOf, prefixOf, sinceOf } from "../../system/watermarks.ts";
import { NO_FIELDS } from "../../wire/fields.ts";
import { dataReply } from "../../wire/reply.ts";
import type { Shape } from "../../wire/shape.ts";
import { askerObject } from "./tokens/ended.ts";

/** Clean-ups that one answer asks about; of more it says only that they go on. */
const MAX_ASKED = 64;

const REVOCATION_SHAPE = {
  "prefix?": "string",
  "entity_id?": "string",
  "issued_since?": "string",
  time: "string",
  created_before: "string | null",
  asked_by: "object | null",
  request_id: "string",
  request_path: "string",
  clean_up: "string",
  tokens_seen: "integer | null",
  tokens_left: "integer | null",
  clean_up_finished: "string | null",
} as const satisfies Shape;

/** What was revoked by prefix, mount or entity, and how far the clean-up of each is. Only this server has it. */
export const REVOCATION_ROUTES: readonly Route[] = [
  simpleRoute(
    "read",
    "sys/leases/revocations",
    {
      summary: "Lists what was revoked by path, mount, role, entity or restore, and how far the clean-up of each is.",
      operationId: "leases-list-revocations",
      answers: dataAnswer({ revocations: [REVOCATION_SHAPE] }),
    },
    NO_FIELDS,
    async ({ env }) => {
      const watermarks = (await systemOf(env).watermarks()).toReversed();
      const asked = new Set(watermarks.filter(({ cleaned }) => !cleaned).slice(0, MAX_ASKED));
      const ofEntities = await countOfEntities(
        env,
        [...asked].flatMap(({ scope }) => entityOf(scope) ?? []),
      );
      const shown = await inGroups(watermarks, (watermark) => show(env, watermark, asked.has(watermark), ofEntities));
      return ok(dataReply({ revocations: shown }));
    },
  ),
];

async function show(
  env: Env,
  watermark: StoredWatermark,
  ask: boolean,
  ofEntities: ReadonlyMap<string, number>,
): Promise<Record<string, unknown>> {
  const { scope, id, madeAt, createdBefore, cleanedAt, asked } = watermark;
  const prefix = prefixOf(scope);
  const entity = entityOf(scope);
  const since = sinceOf(scope);
  const progress = ask && prefix !== null ? await progressOfEnd(env, prefix, id) : null;
  return {
    ...(prefix !== null && { prefix }),
    ...(entity !== null && { entity_id: entity }),
    ...(since !== null && { issued_since: formatRfc3339(since) }),
    time: formatRfc3339(madeAt),
    created_before: createdBefore === null ? null : formatRfc3339(createdBefore),
    asked_by: asked.by && askerObject(asked.by),
    request_id: asked.request,
    request_path: asked.path ?? "",
    clean_up: cleanedAt !== null ? "finished" : progress ? "running" : "waits for tidy",
    tokens_seen: progress?.seen ?? null,
    tokens_left: ask && entity !== null ? (ofEntities.get(entity) ?? 0) : leftOf(progress),
    clean_up_finished: cleanedAt === null ? null : formatRfc3339(cleanedAt),
  };
}

/** What was listed when a walk began and has not been met; what is made meanwhile, and met, is in neither number. */
function leftOf(progress: EndProgress | null): number | null {
  const { seen = 0, total = null } = progress ?? {};
  return total === null ? null : Math.max(0, total - seen);
}
