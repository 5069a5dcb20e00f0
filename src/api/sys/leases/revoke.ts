import { endRequestOf } from "../../../auth/caller.ts";
import { readRoute } from "../../../auth/record-routes.ts";
import { type Answered, type CallContext, type Route, simpleRoute, withCanonicalPath } from "../../../auth/route.ts";
import {
  ACCEPTED,
  BEGUN,
  dataAnswer,
  ENVELOPE,
  NO_CONTENT,
  type RouteDescription,
} from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339, formatTime } from "../../../base/clock.ts";
import { logInfo } from "../../../base/log.ts";
import { inGroups } from "../../../base/parallel.ts";
import { NOT_FOUND, ok, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import type { WalkMode } from "../../../lease/actions.ts";
import { readLeaseId } from "../../../lease/ids.ts";
import { countIrrevocable, listIrrevocable } from "../../../lease/queries.ts";
import { leaseIdOf } from "../../../lease/record.ts";
import { revokeLease } from "../../../lease/service.ts";
import { MAX_WAIT_MS, progressOfEnd, walkOf } from "../../../lease/walk.ts";
import type { EndProgress, WalkJob } from "../../../lease/walk-job.ts";
import { countOfEntities } from "../../../listing/inventory/queries.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import { systemOf } from "../../../system/system.ts";
import type { StoredWatermark } from "../../../system/watermark-store.ts";
import { entityOf, prefixOf, sinceOf } from "../../../system/watermarks.ts";
import { fieldSchema, flag, NO_FIELDS, strictSchema, text, unread } from "../../../wire/fields.ts";
import { dataReply, EMPTY, type Reply, tidyReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { endBelow } from "../../changed-reply.ts";
import { askerObject } from "../tokens/ended.ts";
import { LEASE_ID, LEASE_PARAMETER, leasePath, readLeaseIdField } from "./leases.ts";

/** Characters of a path prefix; it names the object that walks it. */
const MAX_PREFIX = 512;

/** Every token with a lease is made below this, but for those of wrapped answers; no secret is. */
const TOKEN_PATHS = "auth/";

const GOES_ON: Reply = { kind: "accepted" };

function revokeRoute(path: string, operationId: string): Route {
  return simpleRoute("update", path, {
    summary: "Revokes a lease.",
    operationId,
    parameters: LEASE_PARAMETER,
    answers: [NO_CONTENT, ACCEPTED],
    input: fieldSchema({ ...LEASE_ID, sync: flag(true).describe("False: the answer does not wait for the end") }),
    handle: async (context) => {
      const { fields, params } = context;
      const id = readLeaseIdField(fields.lease_id, params.url_lease_id ?? "");
      if (!id.ok) return id;
      return revokeOne(context, id.value, { wait: fields.sync, force: false });
    },
  });
}

/**
 * A prefix that is the id of a lease means that one alone; else everything below it.
 * The message of a failure is the reference's (sys/leases/revoke-prefix).
 */
function revokeBelowRoute(
  path: string,
  description: Pick<RouteDescription, "summary" | "operationId">,
  mode: Exclude<WalkMode, "tidy">,
): Route {
  return simpleRoute("update", path, {
    ...description,
    parameters: { prefix: "The path, or the id of one lease" },
    answers: [NO_CONTENT, ENVELOPE, ACCEPTED],
    input: fieldSchema({ sync: flag(true).describe("False: the answer does not wait for the end") }),
    handle: async (context) => {
      const { env, installation, fields, params, caller, request } = context;
      const prefix = params.prefix ?? "";
      if (await readLeaseId(installation.keys, prefix)) {
        return revokeOne(context, prefix, { wait: fields.sync, force: mode === "force" });
      }
      if (prefix.length > MAX_PREFIX) return refuse("the prefix is too long");
      const job: WalkJob = { mode, prefix: `${prefix}/` };
      if (job.prefix.startsWith(TOKEN_PATHS)) {
        const ended = await endBelow(context, job, null);
        // With too many watermarks the walk alone is left; batch tokens are not in its reach.
        if (ended.ok) return ok(fields.sync ? ended.value : GOES_ON);
      }
      // So that it meets the tokens that were just made, too.
      await publishRecent(env, currentTime());
      const { finished, failure } = await walkOf(env, job).start(
        job,
        endRequestOf(caller, request),
        fields.sync ? MAX_WAIT_MS : 0,
      );
      if (!failure) return ok(finished ? EMPTY : GOES_ON);
      const { leaseId, number, of, error } = failure;
      return refuse(`failed to revoke ${JSON.stringify(leaseId)} (${number} / ${of}): ${error}`);
    },
  });
}

async function revokeOne(
  { env, installation, request, caller }: CallContext,
  leaseId: string,
  how: { readonly wait: boolean; readonly force: boolean },
): Answered {
  const asked = endRequestOf(caller, request);
  const revoked = await revokeLease(env, installation, leaseId, { ...how, asked }, request.notes);
  if (!revoked.ok) return revoked;
  return ok(how.wait ? EMPTY : GOES_ON);
}

/** Leases that one answer holds at most, unless more are asked for. */
const MAX_LIST = 10_000;
/** Leases that one answer holds at most, whatever is asked for: what a shard sends of as many fits one call between objects. */
const MAX_ASKED = 30_000;

/** The reference's warning, word for word. */
const TOO_MANY =
  "Command halted because many irrevocable leases were found. To emit the entire list, re-run the command with force set true.";
const TOO_MANY_FOR_ONE_ANSWER = `One answer holds ${MAX_ASKED} leases at most, and there are more: see to these with sys/leases/revoke-force, then list again.`;

const TYPE = {
  type: text().describe("`irrevocable`, the only type"),
  // There is one namespace, so there is nothing below it.
  include_child_namespaces: unread("boolean").describe("Without effect: there is one namespace"),
};

async function listGivenUp(env: Env, limit: string): Answered {
  const asked = limit === "" ? MAX_LIST : readLimit(limit);
  if (asked === null) return refuse('limit must be "none" or a positive number');
  const most = Math.min(asked, MAX_ASKED);
  const leases = await listIrrevocable(env, most + 1);
  const shown = leases.slice(0, most);
  const data = {
    lease_count: shown.length,
    leases: shown.map((lease) => ({
      lease_id: leaseIdOf(lease),
      mount_id: `${lease.path.split("/")[0]}/`,
      error: lease.error,
    })),
  };
  if (leases.length > most && limit === "") return ok(dataReply(data, [TOO_MANY]));
  if (leases.length > most && asked > most) return ok(dataReply(data, [TOO_MANY_FOR_ONE_ANSWER]));
  return ok(dataReply(data));
}

/** How many are asked for; null when `limit` does not say. */
function readLimit(limit: string): number | null {
  if (limit.toLowerCase() === "none") return Number.POSITIVE_INFINITY;
  return /^\d{1,9}$/.test(limit) && Number(limit) > 0 ? Number(limit) : null;
}

/** Clean-ups that one answer asks about; of more it says only that they go on. */
const MAX_PROGRESSES = 64;

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
  asked_by: ["object | null", ({ watermark: { asked } }) => askerObject(asked.by)],
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

/**
 * Revocation of one lease, or of all leases and tokens below a path; the leases whose revocation was given up, counted and listed; and
 * what was revoked by prefix, mount or entity, with how far the clean-up of each is.
 */
export const LEASE_REVOCATION_ROUTES: readonly Route[] = [
  ...withCanonicalPath(leasePath, [
    revokeRoute("sys/leases/revoke", "leases-revoke-lease2"),
    revokeRoute("sys/leases/revoke/:url_lease_id{.+}", "leases-revoke-lease"),
  ]),
  revokeBelowRoute(
    "sys/leases/revoke-prefix/:prefix{.+}",
    { summary: "Revokes all leases and tokens below a path.", operationId: "leases-revoke-lease-with-prefix2" },
    "revoke",
  ),
  revokeBelowRoute(
    "sys/leases/revoke-force/:prefix{.+}",
    {
      summary: "Revokes all leases and tokens below a path, whether or not their targets answer.",
      operationId: "leases-force-revoke-lease-with-prefix2",
    },
    "force",
  ),
  simpleRoute("update", "sys/leases/tidy", {
    summary: "Revokes leases and tokens whose end was not seen to.",
    operationId: "leases-tidy",
    answers: BEGUN,
    input: NO_FIELDS,
    handle: async ({ env }) => {
      const job: WalkJob = { mode: "tidy", prefix: "" };
      const started = await walkOf(env, job).startUnlessRunning(job);
      if (!started) logInfo(env, { type: "lease tidy", skipped: "one is under way" });
      return ok(tidyReply(true));
    },
  }),
  simpleRoute("read", "sys/leases/count", {
    summary: "Counts the leases that could not be revoked.",
    operationId: "leases-count",
    answers: dataAnswer({ lease_count: "integer", counts: { "*": "integer" } }),
    input: strictSchema(TYPE),
    handle: async ({ env, fields }) => {
      if (fields.type !== "irrevocable") return NOT_FOUND;
      const counts = await countIrrevocable(env);
      const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
      return ok(dataReply({ lease_count: total, counts }));
    },
  }),
  simpleRoute("read", "sys/leases", {
    summary: "Lists the leases that could not be revoked.",
    operationId: "leases-list",
    answers: dataAnswer({
      lease_count: "integer",
      leases: [{ lease_id: "string", mount_id: "string", error: "string" }],
    }),
    input: strictSchema({ ...TYPE, limit: text().describe(`Entries at most; \`none\` for all, up to ${MAX_ASKED}`) }),
    handle: async ({ env, fields }) => {
      if (fields.type !== "irrevocable") return NOT_FOUND;
      return listGivenUp(env, fields.limit);
    },
  }),
  readRoute("sys/leases/revocations", {
    summary: "Lists what was revoked by path, mount, role, entity or restore, and how far the clean-up of each is.",
    operationId: "leases-list-revocations",
    answers: dataAnswer({ revocations: [REVOCATION_VIEW.shape] }),
    handle: async ({ env }) => {
      const watermarks = (await systemOf(env).watermarks()).toReversed();
      const asked = new Set(watermarks.filter(({ cleaned }) => !cleaned).slice(0, MAX_PROGRESSES));
      const ofEntities = await countOfEntities(
        env,
        [...asked].flatMap(({ scope }) => entityOf(scope) ?? []),
      );
      const shown = await inGroups(watermarks, (watermark) => show(env, watermark, asked.has(watermark), ofEntities));
      return ok(dataReply({ revocations: shown }));
    },
  }),
];
