import { endRequestOf } from "../../../auth/caller.ts";
import { type CallContext, type Route, simpleRoute } from "../../../auth/route.ts";
import { ACCEPTED, ENVELOPE, NO_CONTENT, type RouteDescription } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import type { WalkMode } from "../../../lease/actions.ts";
import { readLeaseId } from "../../../lease/ids.ts";
import { revokeLease } from "../../../lease/service.ts";
import { MAX_WAIT_MS, walkOf } from "../../../lease/walk.ts";
import type { WalkJob } from "../../../lease/walk-job.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import type { EndRequest } from "../../../system/end-request.ts";
import { fieldSchema, flag } from "../../../wire/fields.ts";
import { EMPTY, type Reply } from "../../../wire/reply.ts";
import { endedReply } from "../../changed-reply.ts";
import { LEASE_ID, LEASE_PARAMETER, readLeaseIdField } from "./lease-id.ts";

/** Characters of a path prefix; it names the object that walks it. */
const MAX_PREFIX = 512;

/** Every token with a lease is made below this, but for those of wrapped answers; no secret is. */
const TOKEN_PATHS = "auth/";

const GOES_ON: Reply = { kind: "accepted" };

/** Revocation of one lease, or of all leases and tokens below a path. */
export const LEASE_REVOCATION_ROUTES: readonly Route[] = [
  revokeRoute("sys/leases/revoke", "leases-revoke-lease2"),
  revokeRoute("sys/leases/revoke/:url_lease_id{.+}", "leases-revoke-lease"),
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
];

function revokeRoute(path: string, operationId: string): Route {
  return simpleRoute(
    "update",
    path,
    { summary: "Revokes a lease.", operationId, parameters: LEASE_PARAMETER, answers: [NO_CONTENT, ACCEPTED] },
    fieldSchema({ ...LEASE_ID, sync: flag(true).describe("False: the answer does not wait for the end") }),
    async (context) => {
      const { fields, params } = context;
      const id = readLeaseIdField(fields.lease_id, params.url_lease_id ?? "");
      if (!id.ok) return id;
      return revokeOne(context, id.value, { wait: fields.sync, force: false });
    },
  );
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
  return simpleRoute(
    "update",
    path,
    {
      ...description,
      parameters: { prefix: "The path, or the id of one lease" },
      answers: [NO_CONTENT, ENVELOPE, ACCEPTED],
    },
    fieldSchema({ sync: flag(true).describe("False: the answer does not wait for the end") }),
    async (context) => {
      const { env, installation, fields, params, caller, request } = context;
      const prefix = params.prefix ?? "";
      if (await readLeaseId(installation.keys, prefix)) {
        return revokeOne(context, prefix, { wait: fields.sync, force: mode === "force" });
      }
      if (prefix.length > MAX_PREFIX) return err(invalid("the prefix is too long"));
      const job: WalkJob = { mode, prefix: `${prefix}/` };
      const asked = endRequestOf(caller, request);
      if (job.prefix.startsWith(TOKEN_PATHS)) {
        const ended = await endTokens(env, job, asked);
        // With too many watermarks the walk alone is left; batch tokens are not in its reach.
        if (ended.ok) return ok(fields.sync ? ended.value : GOES_ON);
      }
      // So that it meets the tokens that were just made, too.
      await publishRecent(env, currentTime());
      const { finished, failure } = await walkOf(env, job).start(job, asked, fields.sync ? MAX_WAIT_MS : 0);
      if (!failure) return ok(finished ? EMPTY : GOES_ON);
      const { leaseId, number, of, error } = failure;
      return err(invalid(`failed to revoke ${JSON.stringify(leaseId)} (${number} / ${of}): ${error}`));
    },
  );
}

/** Ends the tokens below a prefix, whatever their number, before the answer. */
async function endTokens(env: Env, job: WalkJob, asked: EndRequest): Promise<Result<Reply, Failure>> {
  const ended = await walkOf(env, job).endTokens({ ...job, createdBefore: null, mount: null, asked });
  return ended.ok ? endedReply(env) : ended;
}

async function revokeOne(
  {
    env,
    installation,
    request,
    caller,
  }: Pick<CallContext<unknown, null>, "caller" | "env" | "installation" | "request">,
  leaseId: string,
  how: { readonly wait: boolean; readonly force: boolean },
): Promise<Result<Reply, Failure>> {
  const asked = endRequestOf(caller, request);
  const revoked = await revokeLease(env, installation, leaseId, { ...how, asked }, request.notes);
  if (!revoked.ok) return revoked;
  return ok(how.wait ? EMPTY : GOES_ON);
}
