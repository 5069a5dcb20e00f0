import { registerLease } from "../../../auth/register-lease.ts";
import { type Answered, type Route, simpleRoute, withCanonicalPath } from "../../../auth/route.ts";
import { dataAnswer, ENVELOPE, KEYS } from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339, formatTime } from "../../../base/clock.ts";
import { err, invalid, ok, type Result, refuse } from "../../../base/result.ts";
import { toBase64 } from "../../../crypto/bytes.ts";
import type { Env } from "../../../env.ts";
import { listLeases } from "../../../lease/queries.ts";
import { type LeaseView, leaseIdOf } from "../../../lease/record.ts";
import { endpointSettings, readRevocationEndpoint } from "../../../lease/revocation-endpoint.ts";
import { type GrantedLease, lookupLease, renewLease, type ShownLease } from "../../../lease/service.ts";
import { SIGNATURE_HEADER, signingKey } from "../../../lease/signature.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import type { Installation } from "../../../system/installation.ts";
import { anyObject, duration, fieldSchema, flag, text, unread } from "../../../wire/fields.ts";
import { PAGE, type Page } from "../../../wire/page.ts";
import { dataReply, keysReply, type LeaseReply, type Reply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";

/** The field of the body that names a lease. */
export const LEASE_ID = { lease_id: unread("string").describe("The id of the lease") };

/** The part of the path that names a lease. */
export const LEASE_PARAMETER = { url_lease_id: "The id of the lease, unless the body has it" };

const WITH_ID = /^(sys\/leases\/(?:renew|revoke)\/).+$/s;

/**
 * The path with the id of the lease that is meant. The one in the body wins, as in the reference: else who may revoke some leases by
 * their paths could name any other lease in the body.
 */
export function leasePath(path: string, { lease_id: id }: Readonly<Record<string, unknown>>): string {
  return typeof id === "string" && id !== "" ? path.replace(WITH_ID, (_, bare: string) => bare + id) : path;
}

/**
 * The id of the body, else that of the path. Messages are the reference's (sys/leases).
 *
 * @param sent what the body has, of whatever type.
 */
export function readLeaseIdField(sent: unknown, inPath: string): Result<string> {
  if (sent !== undefined && typeof sent !== "string") return refuse("invalid lease ID");
  const id = sent || inPath;
  return id === "" ? refuse("lease_id must be specified") : ok(id);
}

/** A lease of either kind. Times in ms. */
interface LeaseFacts extends Pick<LeaseView, "path" | "renewable" | "renewedAt" | "error"> {
  readonly id: string;
  readonly issuedAt: number;
  /** null: never. */
  readonly expiresAt: number | null;
  readonly now: number;
}

/** What a look-up shows of a lease. */
const LEASE_VIEW = view<LeaseFacts>({
  id: ["string", (lease) => lease.id],
  path: ["string", (lease) => lease.path],
  renewable: ["boolean", (lease) => lease.renewable && lease.error === null],
  issue_time: ["string", (lease) => formatRfc3339(lease.issuedAt)],
  expire_time: ["string | null", (lease) => formatTime(lease.expiresAt)],
  last_renewal: ["string | null", (lease) => formatTime(lease.renewedAt)],
  ttl: [
    "integer",
    ({ expiresAt, now }) => (expiresAt === null ? 0 : Math.max(0, Math.floor((expiresAt - now) / 1000))),
  ],
  "revoke_error?": ["string", (lease) => lease.error ?? undefined],
});

/** The lease of a token or of a secret. `now` in ms. */
function leaseFacts(shown: ShownLease, now: number): LeaseFacts {
  if (shown.kind === "secret") return { ...shown.lease, id: leaseIdOf(shown.lease), now };
  const { path, renewable, createdAt, expiresAt, renewedAt } = shown.token;
  return { id: shown.leaseId, path, renewable, issuedAt: createdAt, expiresAt, renewedAt, error: null, now };
}

/** The lease in the answer to its registration or renewal. */
function leaseReply(lease: LeaseView): LeaseReply {
  return { id: leaseIdOf(lease), renewable: lease.renewable, duration: lease.grantedTtl };
}

/** Names that one answer holds at most. */
const MAX_LIST = 10_000;

/** The reference's message for a lease that does not exist, word for word. */
const INVALID_LEASE = invalid("invalid lease");

async function listNames(env: Env, installation: Installation, prefix: string, { after, limit }: Page): Answered {
  const most = limit > 0 ? Math.min(limit, MAX_LIST) : MAX_LIST;
  await publishRecent(env, currentTime());
  const names = await listLeases(env, installation.keys, prefix, after, most + 1);
  const keys = names.slice(0, most);
  const isCut = names.length > most && most !== limit;
  return ok(isCut ? dataReply({ keys }, [`the list was cut after ${MAX_LIST} names`]) : keysReply(keys));
}

function renewRoute(path: string, operationId: string): Route {
  return simpleRoute("update", path, {
    summary: "Renews a lease.",
    operationId,
    parameters: LEASE_PARAMETER,
    answers: ENVELOPE,
    input: fieldSchema({ ...LEASE_ID, increment: duration().describe("How long it should live from now") }),
    handle: async (context) => {
      const { env, installation, fields, params } = context;
      const id = readLeaseIdField(fields.lease_id, params.url_lease_id ?? "");
      return id.ok ? grantedReply(await renewLease(env, installation, id.value, fields.increment)) : id;
    },
  });
}

/** The lease that a registration or renewal granted. */
function grantedReply(granted: Result<GrantedLease>): Result<Reply> {
  if (!granted.ok) return granted;
  const { lease, warnings } = granted.value;
  return ok({ kind: "data", data: null, lease: leaseReply(lease), warnings });
}

/** Fields of a lease that an engine elsewhere registers. */
const REGISTER_FIELDS = fieldSchema({
  token: text().describe("The token that the lease hangs on"),
  accessor: text().describe("The accessor of that token, in the place of it"),
  path: text().describe("The path that the lease is listed under"),
  ttl: duration().describe("How long it lives"),
  max_ttl: duration().describe("How long it lives at most"),
  renewable: flag(true).describe("False: it can't be renewed"),
  target: text().describe("Where its revocation is sent to"),
  data: anyObject().describe("What the revocation sends to the target"),
});

/**
 * Look-up of a lease, the list of the paths of leases, and renewal, for which the id can be in the path. For engines elsewhere, the
 * registration of a lease, and the key that the revocations they receive are signed with.
 */
export const LEASE_ROUTES: readonly Route[] = [
  simpleRoute("update", "sys/leases/lookup", {
    summary: "Shows a lease.",
    operationId: "leases-read-lease",
    answers: dataAnswer(LEASE_VIEW.shape),
    input: fieldSchema(LEASE_ID),
    handle: async ({ env, installation, request, fields }) => {
      const id = readLeaseIdField(fields.lease_id, "");
      if (!id.ok) return id;
      const found = await lookupLease(env, installation, id.value, request.notes);
      return found.ok ? ok(dataReply(LEASE_VIEW.show(leaseFacts(found.value, currentTime())))) : err(INVALID_LEASE);
    },
  }),
  simpleRoute("list", "sys/leases/lookup", {
    summary: "Lists the first segments of the paths of leases.",
    operationId: "leases-look-up",
    answers: KEYS,
    input: fieldSchema(PAGE),
    handle: ({ env, installation, fields }) => listNames(env, installation, "", fields),
  }),
  simpleRoute("list", "sys/leases/lookup/:prefix{.+}", {
    summary: "Lists what is below a path of leases.",
    operationId: "leases-look-up-with-prefix",
    parameters: { prefix: "The path" },
    answers: KEYS,
    input: fieldSchema(PAGE),
    handle: ({ env, installation, params, fields }) => listNames(env, installation, `${params.prefix}/`, fields),
  }),
  ...withCanonicalPath(leasePath, [
    renewRoute("sys/leases/renew", "leases-renew-lease2"),
    renewRoute("sys/leases/renew/:url_lease_id{.+}", "leases-renew-lease"),
  ]),
  simpleRoute("update", "sys/leases/register", {
    summary: "Gives a lease on a secret that an engine elsewhere has made.",
    operationId: "leases-register",
    answers: ENVELOPE,
    input: REGISTER_FIELDS,
    handle: async ({ env, installation, request, fields }) => {
      const { token, accessor, path, ttl, max_ttl: maxTtl, renewable, target, data } = fields;
      const registration = { token, accessor, path, ttl, maxTtl, renewable, target, data: data ?? null };
      return grantedReply(await registerLease(env, installation, registration, request.notes));
    },
  }),
  simpleRoute("update", "sys/leases/signing-key", {
    summary: "Answers the key by which a target knows that a revocation is genuine.",
    operationId: "leases-read-signing-key",
    answers: dataAnswer({ key: "string", algorithm: "string", header: "string" }),
    input: fieldSchema({ target: text().describe("Where its revocation is sent to") }),
    handle: async (context) => {
      const { env, installation, fields } = context;
      const target = readRevocationEndpoint(fields.target, endpointSettings(env));
      if (!target.ok) return refuse(target.error);
      const key = await signingKey(installation.keys, target.value);
      return ok(dataReply({ key: toBase64(key), algorithm: "HMAC-SHA256", header: SIGNATURE_HEADER }));
    },
  }),
];
