import type { Caller } from "../../../auth/caller.ts";
import { type CallContext, type Route, simpleRoute } from "../../../auth/route.ts";
import { type Answer, dataAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { inGroups } from "../../../base/parallel.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { formatRfc3339 } from "../../../base/rfc3339.ts";
import type { Env } from "../../../env.ts";
import type { ListedToken } from "../../../listing/inventory/entry.ts";
import { matches, type TokenFilter } from "../../../listing/inventory/filter.ts";
import { countMeant, findInInventory, pageOfInventory } from "../../../listing/inventory/queries.ts";
import { type RevocationJob, revocationsOf } from "../../../listing/inventory/revocations.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import { ROOT_POLICY } from "../../../policy/name.ts";
import { treeOf } from "../../../token/find-tree.ts";
import { decodeStoredId, readAccessor, type TokenAddress } from "../../../token/ids.ts";
import { count, flag, list, NO_FIELDS, sent, strictSchema } from "../../../wire/fields.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { FILTER, type FilterFields, readFilter } from "./filter-fields.ts";
import { mountNames, TOKEN_SHAPE, tokenObject } from "./token-view.ts";

/** Tokens that can be named one by one. */
const MAX_NAMED = 1000;
const SAMPLE = 20;

const BODY = strictSchema({
  ...FILTER,
  accessors: list().describe("Accessors of the tokens, at most 1000, in place of a filter."),
  dry_run: flag(true).describe("Counts what would be revoked and changes nothing."),
  expected_count: sent(count()).describe("The count that a dry run answered; more than that are not revoked."),
  include_root: flag(false).describe("Whether root tokens are revoked as well."),
  include_self: flag(false).describe("Whether the token of the request, and those above it, are revoked as well."),
});

const COUNT_SHAPE = { count: "integer", more: "boolean" } as const;
const JOB_SHAPE = {
  id: "string",
  state: "string",
  filter: "object",
  started: "string",
  finished: "string | null",
  expected: "integer",
  revoked: "integer",
  ended_before: "integer",
  spared: "integer",
  mismatched: "integer",
  remaining: "integer | null",
  failures: ["string"],
} as const;
const JOB: Answer = dataAnswer(JOB_SHAPE);
const PARAMETERS = { id: "Id of the job." };

/** `sys/tokens/revoke` and `sys/tokens/jobs`: many tokens at once, seen first. */
export const TOKEN_REVOCATION_ROUTES: readonly Route[] = [
  simpleRoute(
    "update",
    "sys/tokens/revoke",
    {
      summary: "Revokes the tokens of a filter, with what hangs below them; a dry run counts them first.",
      operationId: "inventory-revoke-tokens",
      answers: dataAnswer({
        "job?": "string",
        "count?": "integer",
        "more?": "boolean",
        "sample?": [TOKEN_SHAPE],
        "leases?": COUNT_SHAPE,
        "skipped?": { root: "integer", self: "integer" },
      }),
    },
    BODY,
    revoke,
  ),
  simpleRoute(
    "read",
    "sys/tokens/jobs",
    {
      summary: "The last revocations by filter, the newest first.",
      operationId: "inventory-list-jobs",
      answers: dataAnswer({ jobs: [JOB_SHAPE] }),
    },
    NO_FIELDS,
    async ({ env }) => ok(dataReply({ jobs: (await revocationsOf(env).list()).map(jobObject) })),
  ),
  simpleRoute(
    "read",
    "sys/tokens/jobs/:id",
    { summary: "How far a revocation is.", operationId: "inventory-read-job", parameters: PARAMETERS, answers: JOB },
    NO_FIELDS,
    async ({ env, params }) => jobReply(await revocationsOf(env).read(params.id ?? "")),
  ),
  simpleRoute(
    "update",
    "sys/tokens/jobs/:id/stop",
    {
      summary: "Stops a revocation. What is revoked stays so.",
      operationId: "inventory-stop-job",
      parameters: PARAMETERS,
      answers: JOB,
    },
    NO_FIELDS,
    async ({ env, params }) => jobReply(await revocationsOf(env).stop(params.id ?? "")),
  ),
];

type RevokeFields = FilterFields & {
  readonly accessors: string[];
  readonly dry_run: boolean;
  readonly expected_count: number | undefined;
  readonly include_root: boolean;
  readonly include_self: boolean;
};

/** What a revocation would do. */
interface Preview {
  readonly count: number;
  readonly more: boolean;
  readonly sample: readonly ListedToken[];
  readonly skipped: { readonly root: number; readonly self: number };
}

async function revoke(context: CallContext<RevokeFields, null>): Promise<Result<Reply, Failure>> {
  const { env, installation, fields, caller, request } = context;
  const meant = await readMeant(context);
  if (!meant.ok) return meant;
  const now = currentTime();
  await publishRecent(env, now);
  const spare = fields.include_self ? null : addressOf(caller);
  const preview = await previewOf(env, meant.value, spare, fields.include_root, now);
  if (fields.dry_run) {
    const mounts = mountNames(installation);
    return ok(
      dataReply({
        count: preview.count,
        more: preview.more,
        sample: preview.sample.map((token) => tokenObject(token, mounts)),
        leases: await leasesOf(env, preview),
        skipped: preview.skipped,
      }),
    );
  }
  if (fields.expected_count === undefined) return err(invalid("expected_count is missing: the count of a dry run"));
  if (preview.more) return err(invalid("the filter means more tokens than can be counted; make it narrower"));
  if (preview.count > fields.expected_count) {
    return err(invalid(`the filter means ${preview.count} tokens now, which is more than expected_count`));
  }
  const selection = {
    sent: JSON.stringify(selectionOf(request.data)),
    filter: meant.value.kind === "filter" ? meant.value.filter : null,
    accessors: meant.value.kind === "named" ? meant.value.accessors : null,
    includeRoot: fields.include_root,
    spare,
  };
  return ok(dataReply({ job: await revocationsOf(env).start(selection, preview.count) }));
}

/**
 * The fields that say which tokens are meant, as they were sent. What the job keeps is shown to its readers, so it is
 * of known names alone: a token that was sent by mistake must not be among them.
 */
function selectionOf(sentFields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = [...Object.keys(FILTER), "accessors", "include_root", "include_self"];
  return Object.fromEntries(Object.entries(sentFields).filter(([name]) => kept.includes(name)));
}

/** The tokens that a request means. */
type Meant =
  | { readonly kind: "filter"; readonly filter: TokenFilter }
  | { readonly kind: "named"; readonly accessors: readonly string[] };

async function readMeant({
  installation,
  fields,
  request,
}: CallContext<RevokeFields, null>): Promise<Result<Meant, Failure>> {
  // A script whose variable has no value sends an empty text, which would narrow nothing.
  const empty = Object.keys(FILTER).find((name) => request.data[name] === "" || request.data[name] === null);
  if (empty) return err(invalid(`${empty} is empty: leave it out, or say what it has to be`));
  const filter = readFilter(fields, installation);
  if (!filter.ok) return filter;
  const filters = Object.values(filter.value).some((value) => value !== undefined);
  const accessors = [...new Set(fields.accessors)];
  if (filters === accessors.length > 0)
    return err(invalid("a filter or accessors say which tokens are meant: one of them"));
  if (filters) return ok({ kind: "filter", filter: filter.value });
  if (accessors.length > MAX_NAMED) return err(invalid(`accessors are at most ${MAX_NAMED}`));
  const read = await Promise.all(accessors.map((accessor) => readAccessor(installation.keys, accessor)));
  if (read.includes(null)) return err(invalid("accessors holds what is no accessor"));
  return ok({ kind: "named", accessors });
}

async function previewOf(
  env: Env,
  meant: Meant,
  spare: TokenAddress | null,
  includeRoot: boolean,
  now: number,
): Promise<Preview> {
  const protectedTokens = await spared(env, meant, spare, now);
  const isSkipped = (token: ListedToken) => !includeRoot && isRoot(token);
  const isSpared = (token: ListedToken) => protectedTokens.some(({ accessor }) => accessor === token.accessor);
  const self = protectedTokens.filter((token) => !isSkipped(token)).length;
  if (meant.kind === "named") {
    const tokens = [...(await findInInventory(env, meant.accessors)).values()];
    const left = tokens.filter((token) => !isSkipped(token) && !isSpared(token));
    const root = tokens.filter(isSkipped).length;
    return { count: left.length, more: false, sample: left.slice(0, SAMPLE), skipped: { root, self } };
  }
  const { count, roots, more } = await countMeant(env, meant.filter, now);
  const order = { by: "created", descending: false } as const;
  const { tokens } = await pageOfInventory(env, meant.filter, order, null, 2 * SAMPLE, now);
  const root = includeRoot ? 0 : roots;
  return {
    count: count - root - self,
    more,
    sample: tokens.filter((token) => !isSkipped(token) && !isSpared(token)).slice(0, SAMPLE),
    skipped: { root, self },
  };
}

/** Of the tokens that are meant the caller's own, and those above it. */
async function spared(env: Env, meant: Meant, spare: TokenAddress | null, now: number): Promise<ListedToken[]> {
  if (!spare) return [];
  const accessors = (await treeOf(env, spare.treeId)?.accessorsFrom(spare.row)) ?? [];
  const tokens = [...(await findInInventory(env, accessors)).values()];
  return tokens.filter((token) =>
    meant.kind === "named" ? meant.accessors.includes(token.accessor) : matches(meant.filter, token, spare.treeId, now),
  );
}

/** The leases of the sample and of what hangs below it. */
async function leasesOf(env: Env, { sample, count, more }: Preview): Promise<{ count: number; more: boolean }> {
  const found = await inGroups(sample, async ({ accessor }) => {
    const place = decodeStoredId(accessor);
    return place && (await treeOf(env, place.treeId)?.lineage(place.row, place.tail, 1, 0));
  });
  const leases = found.flatMap((lineage) => lineage?.leases ?? []);
  return {
    count: leases.reduce((sum, { count }) => sum + count, 0),
    more: more || count > sample.length || leases.some((one) => one.more),
  };
}

/** The token that the caller's life hangs on. */
function addressOf(caller: Caller): TokenAddress | null {
  switch (caller.kind) {
    case "service":
      return { treeId: caller.token.treeId, row: caller.token.row };
    case "batch":
      return caller.token.parent && { treeId: caller.token.parent.treeId, row: caller.token.parent.row };
    case "team":
      return null;
  }
}

function isRoot({ policies }: ListedToken): boolean {
  return policies.includes(ROOT_POLICY);
}

function jobReply(job: RevocationJob | null): Result<Reply, Failure> {
  return job ? ok(dataReply(jobObject(job))) : err({ code: "not_found" });
}

function jobObject(job: RevocationJob): Record<string, unknown> {
  return {
    id: job.id,
    state: job.state,
    filter: JSON.parse(job.selection.sent),
    started: formatRfc3339(job.startedAt),
    finished: job.finishedAt === null ? null : formatRfc3339(job.finishedAt),
    expected: job.expected,
    revoked: job.revoked,
    ended_before: job.gone,
    spared: job.spared,
    mismatched: job.mismatched,
    remaining: job.state === "running" ? Math.max(0, job.expected - job.revoked - job.gone - job.mismatched) : null,
    failures: job.failures,
  };
}
