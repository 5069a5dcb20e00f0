import { type Route, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { MAX_NAMED_TOKENS } from "../../../base/limits.ts";
import { inGroups } from "../../../base/parallel.ts";
import { unlessStorageFails } from "../../../base/platform-errors.ts";
import { NOT_FOUND, refuse } from "../../../base/result.ts";
import type { RevocationJob } from "../../../listing/inventory/job-record.ts";
import { endedInJob } from "../../../listing/inventory/queries.ts";
import { revocationsOf } from "../../../listing/inventory/revocation-jobs.ts";
import { NO_TALLY } from "../../../listing/inventory/tally.ts";
import { type AccessorCredential, readAccessor, routedIdText } from "../../../token/ids.ts";
import { treeAt } from "../../../token/tree-stub.ts";
import { strictSchema } from "../../../wire/field-schema.ts";
import { list, text } from "../../../wire/fields.ts";
import { dataReply } from "../../../wire/reply.ts";
import { endedIn, endedPage, readEndedPage } from "./ended-page.ts";
import { AFTER } from "./filter-fields.ts";
import { type HeldUnrevoked, UNREVOKED_VIEW, unrevokedLeases, verifyLeases } from "./unrevoked-leases.ts";

/** Maximum number of leases that a request names. Each is a call to its tree. */
const MAX_NAMED_LEASES = 100;

/** The leases of the tokens of a job; see `leasesOfJob`. */
const JOB_LEASES_SHAPE = { asked: "integer", more: "boolean", ended: "integer | null" } as const;

/**
 * Returns how many leases a job was to end, as counted before, and how many of them their targets have accepted; null
 * when that is not known: not all tokens that were counted were found ended, or not all leases were counted.
 *
 * @param ended number of tokens of the job that their trees refuse.
 */
function leasesOfJob({ tally }: RevocationJob, { waiting, failing, removed, more }: HeldUnrevoked, ended: number) {
  const { leases: asked, total } = tally ?? NO_TALLY;
  const isKnown = tally !== null && ended >= total && !asked.more && !more;
  const left = waiting + failing + removed;
  return { asked: asked.count, more: asked.more, ended: isKnown ? Math.max(0, asked.count - left) : null };
}

/** The check that tokens are refused, and their leases revoked. */
export const VERIFY_ENDED_ROUTE: Route = tokenRoute("update", "sys/tokens/verify-ended", {
  summary: "Asks the trees whether tokens are refused and their leases revoked.",
  operationId: "inventory-verify-ended",
  answers: dataAnswer({
    checked: "integer",
    ended: "integer",
    unknown: "integer",
    alive: ["string"],
    unanswered: ["string"],
    unrevoked_leases: UNREVOKED_VIEW.shape,
    "leases?": JOB_LEASES_SHAPE,
    next: "string",
  }),
  input: strictSchema({
    accessors: list().describe(`Accessors of the tokens, at most ${MAX_NAMED_TOKENS}.`),
    lease_ids: list().describe(`In place of accessors: ids of leases, at most ${MAX_NAMED_LEASES}.`),
    job: text().describe(`In place of accessors: all tokens that this job ended, ${MAX_NAMED_TOKENS} at a time.`),
    request_id: text().describe(`In place of accessors: those that this request ended, ${MAX_NAMED_TOKENS} at a time.`),
    after: AFTER,
  }),
  prepare: async ({ fields: { job, request_id: request, after, accessors, lease_ids: leases } }) => {
    const given = [job !== "", request !== "", accessors.length > 0, leases.length > 0].filter(Boolean).length;
    if (given !== 1) return refuse("send one of accessors, lease_ids, job and request_id");
    if (leases.length > MAX_NAMED_LEASES) return refuse(`lease_ids has more than ${MAX_NAMED_LEASES} items`);
    const { size } = new Set(accessors);
    if (size > MAX_NAMED_TOKENS) return refuse(`accessors has more than ${MAX_NAMED_TOKENS} items`);
    return readEndedPage(after, 0, MAX_NAMED_TOKENS, MAX_NAMED_TOKENS);
  },
  handle: async ({ env, installation, fields, prepared }) => {
    const { job, request_id: request, lease_ids: leases } = fields;
    if (leases.length > 0) return dataReply(await verifyLeases(env, installation, [...new Set(leases)]));
    let accessors = [...new Set(fields.accessors)];
    let next = "";
    const run = job === "" ? null : await revocationsOf(env).read(job);
    if (accessors.length === 0) {
      const filter = job === "" ? await endedIn(env, request) : endedInJob(job, run);
      const page = await endedPage(env, filter, prepared);
      accessors = page.tokens.map(({ token }) => token.accessor);
      // Whether those that a job could not end can be used is the question that matters most.
      if (run && fields.after === "") accessors.push(...run.notEnded.tokens.map(({ accessor }) => accessor));
      next = page.next;
      const isKnown = job === "" ? fields.after !== "" || next !== "" : run !== null;
      // For an unknown job or request, an answer without tokens would look like a proof that its tokens are refused.
      if (accessors.length === 0 && !isKnown) return NOT_FOUND;
    }
    const read = await Promise.all(accessors.map((accessor) => readAccessor(installation.keys, accessor)));
    const places = read.flatMap((place) => place ?? []);
    const unanswered: AccessorCredential[] = [];
    const answers = await inGroups([...Map.groupBy(places, ({ treeId }) => treeId)], async ([treeId, inTree]) => {
      const rows = await unlessStorageFails(
        treeAt(env, treeId).aliveOf(inTree.map(({ row, tail }) => ({ row, tail }))),
      );
      if (rows === null) unanswered.push(...inTree);
      return inTree.filter(({ row }) => rows?.includes(row)).map(textOf);
    });
    const alive = answers.flat();
    const unknown = accessors.length - places.length;
    const unrevoked = await unrevokedLeases(env, places);
    const ended = places.length - alive.length - unanswered.length;
    const isWhole = fields.after === "" && next === "" && ended === accessors.length;
    return dataReply({
      checked: accessors.length,
      ended,
      unknown,
      alive,
      unanswered: unanswered.map(textOf),
      unrevoked_leases: UNREVOKED_VIEW.show(unrevoked),
      ...(run && { leases: leasesOfJob(run, unrevoked, isWhole ? ended : 0) }),
      next,
    });
  },
});

function textOf({ treeId, row, tail }: AccessorCredential): string {
  return routedIdText(treeId, row, tail);
}
