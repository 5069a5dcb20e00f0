import { originOfCaller } from "../../../auth/caller.ts";
import { type Answered, type CallContext, type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { ACCEPTED, BEGUN, dataAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339, formatTime, type Ms } from "../../../base/clock.ts";
import { logInfo } from "../../../base/log.ts";
import { inGroups } from "../../../base/parallel.ts";
import { NOT_FOUND, ok, okUnless, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { leaseIdOf } from "../../../lease/actions.ts";
import { readLeaseId } from "../../../lease/ids.ts";
import { lookupLease, revokeLease, type ShownLease } from "../../../lease/lease-operations.ts";
import { MAX_WAIT_MS, prefixJob, progressOfEnd } from "../../../lease/prefix-revocation.ts";
import type { EndProgress, WalkJob } from "../../../lease/prefix-revocation-job.ts";
import { countIrrevocable, listIrrevocable } from "../../../lease/queries.ts";
import { countOf } from "../../../listing/inventory/queries.ts";
import type { IrrevocableLease } from "../../../listing/lease-index.ts";
import { publishRecent } from "../../../listing/updates/publish.ts";
import { systemOf } from "../../../system/system.ts";
import { entityOf, prefixOf, type StoredWatermark, sinceOf } from "../../../system/watermarks.ts";
import { fieldSchema, strictSchema } from "../../../wire/field-schema.ts";
import { flag, text, unread } from "../../../wire/fields.ts";
import { dataReply, EMPTY, type Reply, tidyReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { changedReply, endedReply } from "../../change-reply.ts";
import { endBelow } from "../../end-tokens.ts";
import { retriedLeases } from "../health/failing-leases.ts";
import { ACTOR, actorObject } from "../tokens/end-of-token.ts";
import { fieldWithToken } from "../tokens/filter-fields.ts";
import { LEASE_ID, routesOfLease } from "./leases.ts";

/** Maximum length of a path prefix, in characters. It is part of the name of the object that walks over the prefix. */
const MAX_PREFIX = 512;

const CONTINUES: Reply = { kind: "accepted" };
const TOKEN_AS_PREFIX = "the prefix must not contain a token: auth/token/revoke takes one in its body";

const SYNC = { sync: flag(true).describe("False: the answer does not wait for the end") };

async function revokeOne(context: CallContext, leaseId: string, wait: boolean, force: boolean): Answered {
  const { env, installation, request, caller } = context;
  const asked = originOfCaller(caller, request);
  const revoked = await revokeLease(env, installation, leaseId, { wait, force, asked }, request.notes);
  if (!revoked.ok) return revoked;
  return ok(wait ? EMPTY : CONTINUES);
}

/** Defines the revocation of all leases and tokens below a path, or of one lease if the path is its id. */
function revokeBelowRoute(mode: "revoke" | "force", operationId: string, summary: string): Route {
  return tokenRoute("update", `sys/leases/revoke-${mode === "force" ? "force" : "prefix"}/:prefix{.+}`, {
    summary,
    operationId,
    parameters: { prefix: "The path, or the id of one lease" },
    answers: [NO_CONTENT, ACCEPTED],
    input: fieldSchema(SYNC),
    prepare: async ({ env, installation, params: { prefix = "" } }) => {
      // The runtime keeps the name of the object that walks over the prefix, and no token has a lease with this path.
      if ((await fieldWithToken(env, installation, { prefix })) !== null) return refuse(TOKEN_AS_PREFIX);
      const isLease = (await readLeaseId(installation.keys, prefix)) !== null;
      const tooLong = !isLease && prefix.length > MAX_PREFIX;
      return okUnless(tooLong ? "the prefix is too long" : null, { prefix, isLease });
    },
    handle: async (context) => {
      const { env, fields, caller, request, prepared } = context;
      const { prefix, isLease } = prepared;
      if (isLease) return revokeOne(context, prefix, fields.sync, mode === "force");
      const job: WalkJob = { mode, prefix: `${prefix}/` };
      // All leased tokens are created below auth/, except wrapping tokens. Secrets never are.
      if (job.prefix.startsWith("auth/")) {
        const ended = await endBelow(context, job, null);
        // When there are too many watermarks, only the walk is left. It does not reach batch tokens.
        if (ended.ok) return fields.sync ? endedReply(env, ended) : changedReply(env, ended, CONTINUES);
      }
      // The walk reads the lists, which must have the tokens that were created just now.
      await publishRecent(env, currentTime());
      const wait = fields.sync ? MAX_WAIT_MS : 0;
      const { finished, failure } = await prefixJob(env, job).start(job, originOfCaller(caller, request), wait);
      if (!failure) return ok(finished ? EMPTY : CONTINUES);
      const { leaseId, number, of, error } = failure;
      // The message is the reference's (sys/leases).
      return refuse(`failed to revoke ${JSON.stringify(leaseId)} (${number} / ${of}): ${error}`);
    },
  });
}

const DEFAULT_LIST = 10_000;
/** Maximum number of irrevocable leases in an answer. The answer of a shard must fit into one call between objects. */
const MAX_LIST = 30_000;

/** The reference's warning, word for word. */
const TOO_MANY =
  "Command halted because many irrevocable leases were found. To emit the entire list, re-run the command with force set true.";
const TOO_MANY_FOR_ONE_ANSWER = `One answer has at most ${MAX_LIST} leases, and there are more: revoke these with sys/leases/revoke-force, then list again.`;

/** The warning of a list of failing leases that may lack some. */
const MORE_MAY_FAIL =
  "More tokens ended in the last 15 minutes, or have more leases, than one answer looks at: more leases may fail.";

const NAMESPACES = {
  include_child_namespaces: unread("boolean").describe("Without effect: there is one namespace"),
};

function readLimit(limit: string): number | null {
  if (limit.toLowerCase() === "none") return Number.POSITIVE_INFINITY;
  return /^\d{1,9}$/.test(limit) && Number(limit) > 0 ? Number(limit) : null;
}

/** Irrevocable leases whose trees are asked for the token that held each: as many as a person looks at. */
const MAX_WITH_HOLDER = 100;

/** Adds what their trees say of the first leases: the token that held each, and whether it is sent again now. */
async function asTheyStand(
  { env, installation, request }: CallContext,
  leases: readonly IrrevocableLease[],
): Promise<(IrrevocableLease & FailingLease)[]> {
  const held = await inGroups(
    leases.slice(0, MAX_WITH_HOLDER),
    async (lease): Promise<IrrevocableLease & FailingLease> => {
      const found = await lookupLease(env, installation, leaseIdOf(lease), request.notes);
      if (!found.ok) return { ...lease, nextAttemptAt: null };
      const { holder, nextAttemptAt = null } = found.value;
      return { ...lease, ...(holder !== undefined && { holder }), nextAttemptAt };
    },
  );
  return [...held, ...leases.slice(MAX_WITH_HOLDER).map((lease) => ({ ...lease, nextAttemptAt: null }))];
}

/** A lease whose revocation failed. */
interface FailingLease extends Pick<IrrevocableLease, "path" | "tail" | "error">, Pick<ShownLease, "holder"> {
  /** null: it was given up. Absent in a list of irrevocable leases. */
  readonly nextAttemptAt?: Ms | null;
}

const FAILING_VIEW = view<FailingLease>({
  lease_id: ["string", leaseIdOf],
  mount_id: ["string", ({ path }) => `${path.split("/")[0]}/`],
  // Of the first leases only.
  "accessor?": ["string", ({ holder }) => holder],
  error: ["string", ({ error }) => error],
  "next_attempt?": ["string | null", ({ nextAttemptAt: at }) => (at === undefined ? undefined : formatTime(at))],
});

/**
 * The irrevocable leases, and before them those that ended lately and are tried again. The index has an irrevocable
 * lease that is tried again until its target accepts it: it is shown once.
 */
async function failingReply(env: Env, given: readonly FailingLease[], isCut: boolean): Answered {
  const { failures, more } = await retriedLeases(env, currentTime());
  const retried = failures.map(({ accessor, ...failure }): FailingLease => ({ ...failure, holder: accessor }));
  const known = new Set(retried.map(leaseIdOf));
  const leases = [...retried, ...given.filter((lease) => !known.has(leaseIdOf(lease)))].map(FAILING_VIEW.show);
  const warnings = [...(more ? [MORE_MAY_FAIL] : []), ...(isCut ? [TOO_MANY] : [])];
  return dataReply({ lease_count: leases.length, leases }, warnings.length > 0 ? warnings : undefined);
}

/** Maximum number of clean-ups whose progress is read for one answer. */
const MAX_PROGRESSES = 64;

const REVOCATION_VIEW = view<{
  readonly watermark: StoredWatermark;
  readonly progress: EndProgress | null;
  /** Number of tokens that an entity still has; null: not counted. */
  readonly leftOfEntity: number | null;
}>({
  "prefix?": ["string", ({ watermark }) => prefixOf(watermark.scope) ?? undefined],
  "entity_id?": ["string", ({ watermark }) => entityOf(watermark.scope) ?? undefined],
  "issued_since?": ["string", ({ watermark }) => formatTime(sinceOf(watermark.scope)) ?? undefined],
  time: ["string", ({ watermark }) => formatRfc3339(watermark.madeAt)],
  created_before: ["string | null", ({ watermark }) => formatTime(watermark.createdBefore)],
  asked_by: [ACTOR, ({ watermark: { asked } }) => actorObject(asked.by)],
  request_id: ["string", ({ watermark }) => watermark.asked.request],
  request_path: ["string", ({ watermark }) => watermark.asked.path ?? ""],
  clean_up: [
    "string",
    ({ watermark, progress }) => (watermark.cleanedAt !== null ? "finished" : progress ? "running" : "waits for tidy"),
  ],
  tokens_seen: ["integer | null", ({ progress }) => progress?.seen ?? null],
  tokens_left: [
    "integer | null",
    ({ progress, leftOfEntity }) =>
      // Tokens that were listed after the walk began are not in `total`, but can be in `seen`.
      leftOfEntity ?? (progress && progress.total !== null ? Math.max(0, progress.total - progress.seen) : null),
  ],
  clean_up_finished: ["string | null", ({ watermark }) => formatTime(watermark.cleanedAt)],
});

/** Revocation of leases; the leases that could not be revoked; the revocations by watermark with their clean-ups. */
export const LEASE_REVOCATION_ROUTES: readonly Route[] = [
  ...routesOfLease(
    "revoke",
    { summary: "Revokes a lease.", answers: [NO_CONTENT, ACCEPTED] },
    fieldSchema({ ...LEASE_ID, ...SYNC }),
    (context, id) => revokeOne(context, id, context.fields.sync, false),
  ),
  revokeBelowRoute("revoke", "leases-revoke-lease-with-prefix2", "Revokes all leases and tokens below a path."),
  revokeBelowRoute(
    "force",
    "leases-force-revoke-lease-with-prefix2",
    "Revokes all leases and tokens below a path, even if their targets fail.",
  ),
  simpleRoute("update", "sys/leases/tidy", {
    summary: "Revokes expired leases and tokens that are still stored.",
    operationId: "leases-tidy",
    answers: BEGUN,
    handle: async ({ env }) => {
      const job: WalkJob = { mode: "tidy", prefix: "" };
      const started = await prefixJob(env, job).startUnlessRunning(job);
      if (!started) logInfo(env, { type: "lease tidy", skipped: "a run is in progress" });
      return tidyReply(true);
    },
  }),
  simpleRoute("read", "sys/leases/count", {
    summary: "Counts the leases that could not be revoked.",
    operationId: "leases-count",
    answers: dataAnswer({ lease_count: "integer", counts: { "*": "integer" } }),
    input: strictSchema({ type: text().describe("`irrevocable`, the only type"), ...NAMESPACES }),
    handle: async ({ env, fields }) => {
      if (fields.type !== "irrevocable") return NOT_FOUND;
      const counts = await countIrrevocable(env);
      const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
      return dataReply({ lease_count: total, counts });
    },
  }),
  tokenRoute("read", "sys/leases", {
    summary: "Lists the leases that could not be revoked, or whose revocation fails.",
    operationId: "leases-list",
    answers: dataAnswer({ lease_count: "integer", leases: [FAILING_VIEW.shape] }),
    input: strictSchema({
      type: text().describe("`irrevocable`, or `failing`: also those that ended lately and are tried again"),
      ...NAMESPACES,
      limit: text().describe(`Maximum number of irrevocable leases; \`none\` for ${MAX_LIST}`),
    }),
    prepare: async ({ fields }) => {
      const asked = fields.limit === "" ? DEFAULT_LIST : readLimit(fields.limit);
      return asked === null ? refuse('limit must be "none" or a positive number') : ok(asked);
    },
    handle: async (context) => {
      const { env, fields, prepared: asked } = context;
      if (fields.type !== "irrevocable" && fields.type !== "failing") return NOT_FOUND;
      const most = Math.min(asked, MAX_LIST);
      const leases = await listIrrevocable(env, most + 1);
      const held = await asTheyStand(context, leases.slice(0, most));
      const isCut = leases.length > most && (fields.limit === "" || asked > most);
      if (fields.type === "failing") return failingReply(env, held, leases.length > most);
      const shown = held.map(({ nextAttemptAt: _, ...lease }) => FAILING_VIEW.show(lease));
      const warnings = isCut ? [fields.limit === "" ? TOO_MANY : TOO_MANY_FOR_ONE_ANSWER] : undefined;
      return dataReply({ lease_count: shown.length, leases: shown }, warnings);
    },
  }),
  simpleRoute("read", "sys/leases/revocations", {
    summary: "Lists what was revoked together, with the progress of its clean-up.",
    operationId: "leases-list-revocations",
    answers: dataAnswer({ revocations: [REVOCATION_VIEW.shape] }),
    handle: async ({ env }) => {
      const watermarks = (await systemOf(env).watermarks()).toReversed();
      const asked = new Set(watermarks.filter(({ cleaned }) => !cleaned).slice(0, MAX_PROGRESSES));
      const entities = [...asked].flatMap(({ scope }) => entityOf(scope) ?? []);
      const left = await countOf(env, "entity", entities);
      const revocations = await inGroups(watermarks, async (watermark) => {
        const isAsked = asked.has(watermark);
        const prefix = prefixOf(watermark.scope);
        const entity = entityOf(watermark.scope);
        return REVOCATION_VIEW.show({
          watermark,
          progress: isAsked && prefix !== null ? await progressOfEnd(env, prefix, watermark.id) : null,
          leftOfEntity: isAsked && entity !== null ? (left.get(entity) ?? 0) : null,
        });
      });
      return dataReply({ revocations });
    },
  }),
];
