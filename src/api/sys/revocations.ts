import { readRoute } from "../../auth/record-routes.ts";
import type { Route } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { formatRfc3339, formatTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { ok } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { progressOfEnd } from "../../lease/walk.ts";
import type { EndProgress } from "../../lease/walk-job.ts";
import { countOfEntities } from "../../listing/inventory/queries.ts";
import { systemOf } from "../../system/system.ts";
import type { StoredWatermark } from "../../system/watermark-store.ts";
import { entityOf, prefixOf, sinceOf } from "../../system/watermarks.ts";
import { dataReply } from "../../wire/reply.ts";
import { view } from "../../wire/view.ts";
import { askerObject } from "./tokens/ended.ts";

/** Clean-ups that one answer asks about; of more it says only that they go on. */
const MAX_ASKED = 64;

/** A revocation, and what is known of its clean-up. */
interface ShownRevocation {
  readonly watermark: StoredWatermark;
  readonly progress: EndProgress | null;
  /** Tokens that are left of an entity; null where that was not counted. */
  readonly leftOfEntity: number | null;
}

const REVOCATION_VIEW = view<ShownRevocation>({
  "prefix?": ["string", ({ watermark }) => prefixOf(watermark.scope) ?? undefined],
  "entity_id?": ["string", ({ watermark }) => entityOf(watermark.scope) ?? undefined],
  "issued_since?": ["string", ({ watermark }) => formatTime(sinceOf(watermark.scope)) ?? undefined],
  time: ["string", ({ watermark }) => formatRfc3339(watermark.madeAt)],
  created_before: ["string | null", ({ watermark }) => formatTime(watermark.createdBefore)],
  asked_by: ["object | null", ({ watermark: { asked } }) => asked.by && askerObject(asked.by)],
  request_id: ["string", ({ watermark }) => watermark.asked.request],
  request_path: ["string", ({ watermark }) => watermark.asked.path ?? ""],
  clean_up: [
    "string",
    ({ watermark, progress }) => (watermark.cleanedAt !== null ? "finished" : progress ? "running" : "waits for tidy"),
  ],
  tokens_seen: ["integer | null", ({ progress }) => progress?.seen ?? null],
  tokens_left: ["integer | null", ({ progress, leftOfEntity }) => leftOfEntity ?? leftOf(progress)],
  clean_up_finished: ["string | null", ({ watermark }) => formatTime(watermark.cleanedAt)],
});

/** What was revoked by prefix, mount or entity, and how far the clean-up of each is. Only this server has it. */
export const REVOCATION_ROUTES: readonly Route[] = [
  readRoute("sys/leases/revocations", {
    summary: "Lists what was revoked by path, mount, role, entity or restore, and how far the clean-up of each is.",
    operationId: "leases-list-revocations",
    answers: dataAnswer({ revocations: [REVOCATION_VIEW.shape] }),
    handle: async ({ env }) => {
      const watermarks = (await systemOf(env).watermarks()).toReversed();
      const asked = new Set(watermarks.filter(({ cleaned }) => !cleaned).slice(0, MAX_ASKED));
      const ofEntities = await countOfEntities(
        env,
        [...asked].flatMap(({ scope }) => entityOf(scope) ?? []),
      );
      const shown = await inGroups(watermarks, (watermark) => show(env, watermark, asked.has(watermark), ofEntities));
      return ok(dataReply({ revocations: shown }));
    },
  }),
];

async function show(
  env: Env,
  watermark: StoredWatermark,
  ask: boolean,
  ofEntities: ReadonlyMap<string, number>,
): Promise<Record<string, unknown>> {
  const prefix = prefixOf(watermark.scope);
  const entity = entityOf(watermark.scope);
  const progress = ask && prefix !== null ? await progressOfEnd(env, prefix, watermark.id) : null;
  const leftOfEntity = ask && entity !== null ? (ofEntities.get(entity) ?? 0) : null;
  return REVOCATION_VIEW.show({ watermark, progress, leftOfEntity });
}

/** What was listed when a walk began and has not been met; what is made meanwhile, and met, is in neither number. */
function leftOf(progress: EndProgress | null): number | null {
  const { seen = 0, total = null } = progress ?? {};
  return total === null ? null : Math.max(0, total - seen);
}
