import * as z from "zod";
import { type ReadyContext, type Route, simpleRoute } from "../../auth/route.ts";
import {
  ACCEPTED,
  BEGUN,
  dataAnswer,
  ENVELOPE,
  KEYS,
  NO_CONTENT,
  type RouteDescription,
} from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { logInfo } from "../../base/log.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { toBase64 } from "../../crypto/bytes.ts";
import type { Env } from "../../env.ts";
import { type GrantedLease, lookupLease, registerLease, renewLease, revokeLease } from "../../lease/service.ts";
import { MAX_WAIT_MS, walkOf } from "../../lease/walk.ts";
import type { WalkJob } from "../../lease/walk-job.ts";
import type { Installation } from "../../system/installation.ts";
import { countIrrevocable, listIrrevocable, listLeases } from "../../tree/index/index-queries.ts";
import { tellRecent } from "../../tree/inventory/recent.ts";
import type { WalkMode } from "../../tree/leases/actions.ts";
import { readLeaseId } from "../../tree/leases/ids.ts";
import { leaseIdOf } from "../../tree/leases/record.ts";
import { endpointSettings, readRevocationEndpoint } from "../../tree/leases/revocation-endpoint.ts";
import { SIGNATURE_HEADER, signingKey } from "../../tree/leases/signature.ts";
import { duration, flag, ofKind, text, unread } from "../../wire/fields.ts";
import { PAGE, type Page } from "../../wire/page.ts";
import { dataReply, EMPTY, keysReply, type Reply, tidyReply } from "../../wire/reply.ts";
import { endedReply } from "../changed-reply.ts";
import { LEASE_SHAPE, leaseReply, lookupObject } from "./lease-view.ts";

/** Names, or irrevocable leases, that one answer holds at most. */
const MAX_LIST = 10_000;
/** What a shard takes for "no limit". */
const ALL = -1;

/** Characters of a path prefix; it names the object that walks it. */
const MAX_PREFIX = 512;

/** Every token with a lease is made below this, but for those of wrapped answers; no secret is. */
const TOKEN_PATHS = "auth/";

const GOES_ON: Reply = { kind: "accepted" };
const INVALID_LEASE = invalid("invalid lease");
const TOO_MANY =
  "Command halted because many irrevocable leases were found. To emit the entire list, re-run the command with force set true.";

const LEASE_ID = { lease_id: unread("string").describe("The id of the lease") };
const TYPE = {
  type: text().describe("`irrevocable`, the only type"),
  // There is one namespace, so there is nothing below it.
  include_child_namespaces: unread("boolean").describe("Without effect: there is one namespace"),
};

const LEASE_PARAMETER = { url_lease_id: "The id of the lease, unless the body has it" };

/** Leases of tokens and of secrets, at `sys/leases/`. */
export const LEASE_ROUTES: readonly Route[] = [
  simpleRoute(
    "update",
    "sys/leases/lookup",
    { summary: "Shows a lease.", operationId: "leases-read-lease", answers: dataAnswer(LEASE_SHAPE) },
    z.object(LEASE_ID),
    async ({ env, installation, request, fields }) => {
      const id = readLeaseIdField(fields.lease_id, "");
      if (!id.ok) return id;
      const found = await lookupLease(env, installation, id.value, request.notes);
      return found.ok ? ok(dataReply(lookupObject(found.value, currentTime()))) : err(INVALID_LEASE);
    },
  ),
  simpleRoute(
    "list",
    "sys/leases/lookup",
    { summary: "Lists the first segments of the paths of leases.", operationId: "leases-look-up", answers: KEYS },
    z.object(PAGE),
    ({ env, installation, fields }) => listNames(env, installation, "", fields),
  ),
  simpleRoute(
    "list",
    "sys/leases/lookup/:prefix{.+}",
    {
      summary: "Lists what is below a path of leases.",
      operationId: "leases-look-up-with-prefix",
      parameters: { prefix: "The path" },
      answers: KEYS,
    },
    z.object(PAGE),
    ({ env, installation, params, fields }) => listNames(env, installation, `${params.prefix}/`, fields),
  ),

  renewRoute("sys/leases/renew", "leases-renew-lease2"),
  renewRoute("sys/leases/renew/:url_lease_id{.+}", "leases-renew-lease"),
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

  simpleRoute(
    "update",
    "sys/leases/tidy",
    { summary: "Revokes leases and tokens whose end was not seen to.", operationId: "leases-tidy", answers: BEGUN },
    z.object({}),
    async ({ env }) => {
      const job: WalkJob = { mode: "tidy", prefix: "" };
      const started = await walkOf(env, job).startUnlessRunning(job);
      if (!started) logInfo(env, { type: "lease tidy", skipped: "one is under way" });
      return ok(tidyReply(true));
    },
  ),
  simpleRoute(
    "read",
    "sys/leases/count",
    {
      summary: "Counts the leases that could not be revoked.",
      operationId: "leases-count",
      answers: dataAnswer({ lease_count: "integer", counts: { "*": "integer" } }),
    },
    z.object(TYPE),
    async ({ env, fields }) => {
      if (fields.type !== "irrevocable") return err({ code: "not_found" });
      const counts = await countIrrevocable(env);
      const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
      return ok(dataReply({ lease_count: total, counts }));
    },
  ),
  simpleRoute(
    "read",
    "sys/leases",
    {
      summary: "Lists the leases that could not be revoked.",
      operationId: "leases-list",
      answers: dataAnswer({
        lease_count: "integer",
        leases: [{ lease_id: "string", mount_id: "string", error: "string" }],
      }),
    },
    z.object({ ...TYPE, limit: text().describe("Entries at most; `none` for all") }),
    async ({ env, fields }) => {
      if (fields.type !== "irrevocable") return err({ code: "not_found" });
      return listGivenUp(env, fields.limit);
    },
  ),

  ...registrationRoutes(),
];

/** For engines elsewhere: giving a lease to a token, and the key that tells them that a revocation is genuine. */
function registrationRoutes(): Route[] {
  const register = z.object({
    token: text().describe("The token that the lease hangs on"),
    accessor: text().describe("The accessor of that token, in the place of it"),
    path: text().describe("The path that the lease is listed under"),
    ttl: duration().describe("How long it lives"),
    max_ttl: duration().describe("How long it lives at most"),
    renewable: flag(true).describe("False: it can't be renewed"),
    target: text().describe("Where its revocation is sent to"),
    data: ofKind(z.record(z.string(), z.unknown()).nullish(), { shape: "object" }).describe(
      "What the revocation tells the target",
    ),
  });
  return [
    simpleRoute(
      "update",
      "sys/leases/register",
      {
        summary: "Gives a lease on a secret that an engine elsewhere has made.",
        operationId: "leases-register",
        answers: ENVELOPE,
      },
      register,
      async ({ env, installation, request, fields }) => {
        const { token, accessor, path, ttl, max_ttl: maxTtl, renewable, target, data } = fields;
        const registration = { token, accessor, path, ttl, maxTtl, renewable, target, data: data ?? null };
        return grantedReply(await registerLease(env, installation, registration, request.notes));
      },
    ),
    simpleRoute(
      "update",
      "sys/leases/signing-key",
      {
        summary: "Answers the key by which a target knows that a revocation is genuine.",
        operationId: "leases-read-signing-key",
        answers: dataAnswer({ key: "string", algorithm: "string", header: "string" }),
      },
      z.object({ target: text().describe("Where its revocation is sent to") }),
      async (context) => {
        const { env, installation, fields } = context;
        const target = readRevocationEndpoint(fields.target, endpointSettings(env));
        if (!target.ok) return err(invalid(target.error));
        const key = await signingKey(installation.keys, target.value);
        return ok(dataReply({ key: toBase64(key), algorithm: "HMAC-SHA256", header: SIGNATURE_HEADER }));
      },
    ),
  ];
}

function renewRoute(path: string, operationId: string): Route {
  return simpleRoute(
    "update",
    path,
    { summary: "Renews a lease.", operationId, parameters: LEASE_PARAMETER, answers: ENVELOPE },
    z.object({ ...LEASE_ID, increment: duration().describe("How long it should live from now") }),
    async (context) => {
      const { env, installation, fields, params } = context;
      const id = readLeaseIdField(fields.lease_id, params.url_lease_id ?? "");
      return id.ok ? grantedReply(await renewLease(env, installation, id.value, fields.increment)) : id;
    },
  );
}

function revokeRoute(path: string, operationId: string): Route {
  return simpleRoute(
    "update",
    path,
    { summary: "Revokes a lease.", operationId, parameters: LEASE_PARAMETER, answers: [NO_CONTENT, ACCEPTED] },
    z.object({ ...LEASE_ID, sync: flag(true).describe("False: the answer does not wait for the end") }),
    async (context) => {
      const { fields, params } = context;
      const id = readLeaseIdField(fields.lease_id, params.url_lease_id ?? "");
      if (!id.ok) return id;
      return revokeOne(context, id.value, { wait: fields.sync, force: false });
    },
  );
}

/** A prefix that is the id of a lease means that one alone; else everything below it. */
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
    z.object({ sync: flag(true).describe("False: the answer does not wait for the end") }),
    async (context) => {
      const { env, installation, fields, params } = context;
      const prefix = params.prefix ?? "";
      if (await readLeaseId(installation.keys, prefix)) {
        return revokeOne(context, prefix, { wait: fields.sync, force: mode === "force" });
      }
      if (prefix.length > MAX_PREFIX) return err(invalid("the prefix is too long"));
      const job: WalkJob = { mode, prefix: `${prefix}/` };
      if (job.prefix.startsWith(TOKEN_PATHS)) {
        const ended = await endTokens(env, job);
        // With too many watermarks the walk alone is left; batch tokens are not in its reach.
        if (ended.ok) return ok(fields.sync ? ended.value : GOES_ON);
      }
      // So that it meets the tokens that were just made, too.
      await tellRecent(env, currentTime());
      const { finished, failure } = await walkOf(env, job).start(job, fields.sync ? MAX_WAIT_MS : 0);
      if (!failure) return ok(finished ? EMPTY : GOES_ON);
      const { leaseId, number, of, error } = failure;
      return err(invalid(`failed to revoke ${JSON.stringify(leaseId)} (${number} / ${of}): ${error}`));
    },
  );
}

/** Ends the tokens below a prefix, whatever their number, before the answer. */
async function endTokens(env: Env, job: WalkJob): Promise<Result<Reply, Failure>> {
  const ended = await walkOf(env, job).endTokens({ ...job, createdBefore: null, mount: null });
  return ended.ok ? endedReply(env) : ended;
}

async function revokeOne(
  { env, installation, request }: Pick<ReadyContext, "env" | "installation" | "request">,
  leaseId: string,
  how: { readonly wait: boolean; readonly force: boolean },
): Promise<Result<Reply, Failure>> {
  const revoked = await revokeLease(env, installation, leaseId, how, request.notes);
  if (!revoked.ok) return revoked;
  return ok(how.wait ? EMPTY : GOES_ON);
}

async function listNames(
  env: Env,
  installation: Installation,
  prefix: string,
  { after, limit }: Page,
): Promise<Result<Reply, Failure>> {
  const most = limit > 0 ? Math.min(limit, MAX_LIST) : MAX_LIST;
  await tellRecent(env, currentTime());
  const names = await listLeases(env, installation.keys, prefix, after, most + 1);
  const keys = names.slice(0, most);
  const isCut = names.length > most && most !== limit;
  return ok(isCut ? dataReply({ keys }, [`the list was cut after ${MAX_LIST} names`]) : keysReply(keys));
}

async function listGivenUp(env: Env, limit: string): Promise<Result<Reply, Failure>> {
  const all = limit === "none";
  const asked = limit === "" || all ? MAX_LIST : /^\d{1,9}$/.test(limit) ? Number(limit) : 0;
  if (asked <= 0) return err(invalid('limit must be "none" or a positive number'));
  const leases = await listIrrevocable(env, all ? ALL : asked + 1);
  const shown = all ? leases : leases.slice(0, asked);
  const data = {
    lease_count: shown.length,
    leases: shown.map((lease) => ({
      lease_id: leaseIdOf(lease),
      mount_id: `${lease.path.split("/")[0]}/`,
      error: lease.error,
    })),
  };
  const cut = limit === "" && leases.length > asked;
  return ok(dataReply(data, cut ? [TOO_MANY] : undefined));
}

function grantedReply(granted: Result<GrantedLease, Failure>): Result<Reply, Failure> {
  if (!granted.ok) return granted;
  const { lease, warnings } = granted.value;
  return ok({ kind: "data", data: null, lease: leaseReply(lease), warnings });
}

/** The id of the body, else that of the path. */
function readLeaseIdField(sent: unknown, inPath: string): Result<string, Failure> {
  if (sent !== undefined && typeof sent !== "string") return err(invalid("invalid lease ID"));
  const id = sent || inPath;
  return id === "" ? err(invalid("lease_id must be specified")) : ok(id);
}
