import * as z from "zod";
import { type Route, simpleRoute } from "../../auth/route.ts";
import { TO_DESCRIBE } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { toBase64 } from "../../crypto/bytes.ts";
import type { Env } from "../../env.ts";
import { type GrantedLease, lookupLease, registerLease, renewLease, revokeLease } from "../../lease/service.ts";
import { MAX_WAIT_MS, type WalkJob, walkOf } from "../../lease/walk.ts";
import type { Installation } from "../../system/installation.ts";
import { countIrrevocable, listIrrevocable, listLeases } from "../../tree/index/index-queries.ts";
import type { WalkMode } from "../../tree/leases/actions.ts";
import { readLeaseId } from "../../tree/leases/ids.ts";
import { leaseIdOf } from "../../tree/leases/record.ts";
import { endpointSettings, readRevocationEndpoint } from "../../tree/leases/revocation-endpoint.ts";
import { SIGNATURE_HEADER, signingKey } from "../../tree/leases/signature.ts";
import { duration, flag, text } from "../../wire/fields.ts";
import { PAGE, type Page } from "../../wire/page.ts";
import { dataReply, EMPTY, keysReply, type Reply, tidyReply } from "../../wire/reply.ts";
import { leaseReply, lookupObject } from "./lease-view.ts";

/** Names, or irrevocable leases, that one answer holds at most. */
const MAX_LIST = 10_000;
/** What a shard takes for "no limit". */
const ALL = -1;

/** Characters of a path prefix; it names the object that walks it. */
const MAX_PREFIX = 512;

const ACCEPTED: Reply = { kind: "accepted" };
const INVALID_LEASE = invalid("invalid lease");
const TOO_MANY =
  "Command halted because many irrevocable leases were found. To emit the entire list, re-run the command with force set true.";

const LEASE_ID = { lease_id: z.unknown().optional() };
const TYPE = {
  type: text(),
  // There is one namespace, so there is nothing below it.
  include_child_namespaces: z.unknown().optional(),
};

/** Leases of tokens and of secrets, at `sys/leases/`. */
export const LEASE_ROUTES: readonly Route[] = [
  simpleRoute("update", "sys/leases/lookup", TO_DESCRIBE, z.object(LEASE_ID), async ({ env, installation, fields }) => {
    const id = readLeaseIdField(fields.lease_id, "");
    if (!id.ok) return id;
    const found = await lookupLease(env, installation, id.value);
    return found.ok ? ok(dataReply(lookupObject(found.value, currentTime()))) : err(INVALID_LEASE);
  }),
  simpleRoute("list", "sys/leases/lookup", TO_DESCRIBE, z.object(PAGE), ({ env, installation, fields }) =>
    listNames(env, installation, "", fields),
  ),
  simpleRoute(
    "list",
    "sys/leases/lookup/:prefix{.+}",
    TO_DESCRIBE,
    z.object(PAGE),
    ({ env, installation, params, fields }) => listNames(env, installation, `${params.prefix}/`, fields),
  ),

  renewRoute("sys/leases/renew"),
  renewRoute("sys/leases/renew/:id{.+}"),
  revokeRoute("sys/leases/revoke"),
  revokeRoute("sys/leases/revoke/:id{.+}"),
  revokeBelowRoute("sys/leases/revoke-prefix/:prefix{.+}", "revoke"),
  revokeBelowRoute("sys/leases/revoke-force/:prefix{.+}", "force"),

  simpleRoute("update", "sys/leases/tidy", TO_DESCRIBE, z.object({}), async ({ env }) => {
    const job: WalkJob = { mode: "tidy", prefix: "", mount: null };
    const started = await walkOf(env, job).startUnlessRunning(job);
    if (!started) console.log(JSON.stringify({ type: "lease tidy", skipped: "one is under way" }));
    return ok(tidyReply(true));
  }),
  simpleRoute("read", "sys/leases/count", TO_DESCRIBE, z.object(TYPE), async ({ env, fields }) => {
    if (fields.type !== "irrevocable") return err({ code: "not_found" });
    const counts = await countIrrevocable(env);
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return ok(dataReply({ lease_count: total, counts }));
  }),
  simpleRoute("read", "sys/leases", TO_DESCRIBE, z.object({ ...TYPE, limit: text() }), async ({ env, fields }) => {
    if (fields.type !== "irrevocable") return err({ code: "not_found" });
    return listGivenUp(env, fields.limit);
  }),

  ...registrationRoutes(),
];

/** For engines elsewhere: giving a lease to a token, and the key that tells them that a revocation is genuine. */
function registrationRoutes(): Route[] {
  const register = z.object({
    token: text(),
    accessor: text(),
    path: text(),
    ttl: duration(),
    max_ttl: duration(),
    renewable: flag(true),
    target: text(),
    data: z.record(z.string(), z.unknown()).nullish(),
  });
  return [
    simpleRoute("update", "sys/leases/register", TO_DESCRIBE, register, async ({ env, installation, fields }) => {
      const { token, accessor, path, ttl, max_ttl: maxTtl, renewable, target, data } = fields;
      const registration = { token, accessor, path, ttl, maxTtl, renewable, target, data: data ?? null };
      return grantedReply(await registerLease(env, installation, registration));
    }),
    simpleRoute("update", "sys/leases/signing-key", TO_DESCRIBE, z.object({ target: text() }), async (context) => {
      const { env, installation, fields } = context;
      const target = readRevocationEndpoint(fields.target, endpointSettings(env));
      if (!target.ok) return err(invalid(target.error));
      const key = await signingKey(installation.keys, target.value);
      return ok(dataReply({ key: toBase64(key), algorithm: "HMAC-SHA256", header: SIGNATURE_HEADER }));
    }),
  ];
}

function renewRoute(path: string): Route {
  return simpleRoute("update", path, TO_DESCRIBE, z.object({ ...LEASE_ID, increment: duration() }), async (context) => {
    const { env, installation, fields, params } = context;
    const id = readLeaseIdField(fields.lease_id, params.id ?? "");
    return id.ok ? grantedReply(await renewLease(env, installation, id.value, fields.increment)) : id;
  });
}

function revokeRoute(path: string): Route {
  return simpleRoute("update", path, TO_DESCRIBE, z.object({ ...LEASE_ID, sync: flag(true) }), async (context) => {
    const { env, installation, fields, params } = context;
    const id = readLeaseIdField(fields.lease_id, params.id ?? "");
    if (!id.ok) return id;
    return revokeOne(env, installation, id.value, { wait: fields.sync, force: false });
  });
}

/** A prefix that is the id of a lease means that one alone; else everything below it. */
function revokeBelowRoute(path: string, mode: Exclude<WalkMode, "tidy">): Route {
  return simpleRoute("update", path, TO_DESCRIBE, z.object({ sync: flag(true) }), async (context) => {
    const { env, installation, fields, params } = context;
    const prefix = params.prefix ?? "";
    if (await readLeaseId(installation.keys, prefix)) {
      return revokeOne(env, installation, prefix, { wait: fields.sync, force: mode === "force" });
    }
    if (prefix.length > MAX_PREFIX) return err(invalid("the prefix is too long"));
    const job: WalkJob = { mode, prefix: `${prefix}/`, mount: null };
    const { finished, failure } = await walkOf(env, job).start(job, fields.sync ? MAX_WAIT_MS : 0);
    if (!failure) return ok(finished ? EMPTY : ACCEPTED);
    const { leaseId, number, of, error } = failure;
    return err(invalid(`failed to revoke ${JSON.stringify(leaseId)} (${number} / ${of}): ${error}`));
  });
}

async function revokeOne(
  env: Env,
  installation: Installation,
  leaseId: string,
  how: { readonly wait: boolean; readonly force: boolean },
): Promise<Result<Reply, Failure>> {
  const revoked = await revokeLease(env, installation, leaseId, how);
  if (!revoked.ok) return revoked;
  return ok(how.wait ? EMPTY : ACCEPTED);
}

async function listNames(
  env: Env,
  installation: Installation,
  prefix: string,
  { after, limit }: Page,
): Promise<Result<Reply, Failure>> {
  const most = limit > 0 ? Math.min(limit, MAX_LIST) : MAX_LIST;
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
