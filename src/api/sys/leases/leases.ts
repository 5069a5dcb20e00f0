import { listRoute } from "../../../auth/record-routes.ts";
import { checkRegistration, registerLease } from "../../../auth/register-lease.ts";
import { type Answered, type CallContext, type Route, tokenRoute, withPolicyPaths } from "../../../auth/route.ts";
import { dataAnswer, ENVELOPE, type RouteDescription } from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339, formatTime, type Ms } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { toBase64 } from "../../../crypto/bytes.ts";
import { type GrantedLease, lookupLease, renewLease, type ShownLease } from "../../../lease/lease-operations.ts";
import { incrementProblem } from "../../../lease/lease-ttl.ts";
import { listLeases } from "../../../lease/queries.ts";
import { SIGNATURE_HEADER, signingKey } from "../../../lease/revocation-delivery.ts";
import { endpointHost, endpointSettings, readRevocationEndpoint } from "../../../lease/revocation-endpoint.ts";
import { publishRecent } from "../../../listing/updates/publish.ts";
import { type FieldSchema, fieldSchema } from "../../../wire/field-schema.ts";
import { anyObject, duration, flag, pasted, text, unread } from "../../../wire/fields.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";

/** The field with the id of a lease. */
export const LEASE_ID = { lease_id: unread("string").describe("The id of the lease") };

/**
 * Returns the path with the lease id of the body, if there is one. As in the reference, it takes precedence over the id
 * in the path: otherwise a caller whose policies allow some lease paths could name any other lease in the body.
 */
function leasePath(path: string, { lease_id: id }: Readonly<Record<string, unknown>>): string {
  if (typeof id !== "string" || id === "") return path;
  return path.replace(/^(sys\/leases\/(?:renew|revoke)\/).+$/s, (_, bare: string) => bare + id);
}

/** Reads the lease id of the body, of any type, or else of the path. Messages are the reference's (sys/leases). */
function readLeaseIdField(sent: unknown, inPath: string): Result<string> {
  if (sent !== undefined && typeof sent !== "string") return refuse("invalid lease ID");
  const id = sent || inPath;
  return id === "" ? refuse("lease_id must be specified") : ok(id);
}

/** Defines the two routes of an operation on one lease: the id of the lease is in the body or in the path. */
export function routesOfLease<F extends { readonly lease_id: unknown }>(
  operation: "renew" | "revoke",
  description: Pick<RouteDescription, "summary" | "answers">,
  input: FieldSchema<F>,
  perform: (context: CallContext<F>, leaseId: string) => Answered,
  problemOf: (fields: F) => string | null = () => null,
): Route[] {
  const routeAt = (path: string, operationId: string) =>
    tokenRoute<F, string>("update", path, {
      ...description,
      operationId,
      parameters: { url_lease_id: "The id of the lease, unless the body has it" },
      input,
      prepare: async ({ fields, params }) => {
        const id = readLeaseIdField(fields.lease_id, params.url_lease_id ?? "");
        const problem = problemOf(fields);
        return id.ok && problem ? refuse(problem) : id;
      },
      handle: (context) => perform(context, context.prepared),
    });
  const path = `sys/leases/${operation}`;
  const operationId = `leases-${operation}-lease`;
  return withPolicyPaths({ canonicalPath: leasePath }, [
    routeAt(path, `${operationId}2`),
    routeAt(`${path}/:url_lease_id{.+}`, operationId),
  ]);
}

/** A lease of a token or of a secret. */
const LEASE_VIEW = view<ShownLease & { readonly now: Ms }>({
  id: ["string", (lease) => lease.id],
  path: ["string", (lease) => lease.path],
  // For the lease of a secret: only the host of its target, whose path and query may contain secrets.
  "target?": ["string", (lease) => (lease.target ? endpointHost(lease.target) : undefined)],
  renewable: ["boolean", (lease) => lease.renewable && lease.error === null],
  issue_time: ["string", (lease) => formatRfc3339(lease.issuedAt)],
  expire_time: ["string | null", (lease) => formatTime(lease.expiresAt)],
  last_renewal: ["string | null", (lease) => formatTime(lease.renewedAt)],
  ttl: [
    "integer",
    ({ expiresAt, error, now }) =>
      expiresAt === null || error !== null ? 0 : Math.max(0, Math.floor((expiresAt - now) / 1000)),
  ],
  // Of a lease that has ended and whose revocation has failed: why, and when it is sent again. null: it was given up.
  "revoke_error?": ["string", (lease) => lease.error ?? undefined],
  "next_attempt?": ["string | null", ({ nextAttemptAt: at }) => (at === undefined ? undefined : formatTime(at))],
});

function grantedReply(granted: Result<GrantedLease>): Result<Reply> {
  if (!granted.ok) return granted;
  const { lease, warnings } = granted.value;
  const shown = { id: lease.id, renewable: lease.renewable, duration: lease.grantedTtl };
  return ok({ kind: "data", data: null, lease: shown, warnings });
}

async function leaseNames({ env, installation, params }: CallContext, after: string, limit: number) {
  await publishRecent(env, currentTime());
  return listLeases(env, installation.keys, params.prefix === undefined ? "" : `${params.prefix}/`, after, limit);
}

/** Look-up, lists, renewal and registration of leases, and the keys that sign revocations. */
export const LEASE_ROUTES: readonly Route[] = [
  tokenRoute("update", "sys/leases/lookup", {
    summary: "Shows a lease.",
    operationId: "leases-read-lease",
    answers: dataAnswer(LEASE_VIEW.shape),
    input: fieldSchema(LEASE_ID),
    prepare: async ({ fields }) => readLeaseIdField(fields.lease_id, ""),
    handle: async ({ env, installation, request, prepared }) => {
      const found = await lookupLease(env, installation, prepared, request.notes);
      // The message is the reference's (sys/leases).
      return found.ok ? dataReply(LEASE_VIEW.show({ ...found.value, now: currentTime() })) : refuse("invalid lease");
    },
  }),
  listRoute("sys/leases/lookup", {
    summary: "Lists the first segments of the paths of leases.",
    operationId: "leases-look-up",
    names: leaseNames,
  }),
  listRoute("sys/leases/lookup/:prefix{.+}", {
    summary: "Lists the leases and folders below a path.",
    operationId: "leases-look-up-with-prefix",
    parameters: { prefix: "The path" },
    names: leaseNames,
  }),
  ...routesOfLease(
    "renew",
    { summary: "Renews a lease.", answers: ENVELOPE },
    fieldSchema({ ...LEASE_ID, increment: duration().describe("Its new lifetime, from now") }),
    async ({ env, installation, fields, request }, id) =>
      grantedReply(await renewLease(env, installation, id, fields.increment, request.notes)),
    ({ increment }) => incrementProblem(increment),
  ),
  tokenRoute("update", "sys/leases/register", {
    summary: "Registers a lease for a secret that another service created.",
    operationId: "leases-register",
    answers: ENVELOPE,
    input: fieldSchema({
      token: pasted().describe("The token that holds the lease. The lease ends with it"),
      accessor: pasted().describe("The accessor of that token, instead of the token"),
      path: text().describe("The path under which the lease is listed"),
      ttl: duration().describe("Its lifetime"),
      max_ttl: duration().describe("Its maximum lifetime, renewals included"),
      renewable: flag(true).describe("False: it can't be renewed"),
      target: text().describe("The URL that receives its revocation"),
      data: anyObject().describe("Data that the revocation contains"),
    }),
    prepare: async ({ env, fields: { max_ttl: maxTtl, data = null, ...sent } }) =>
      checkRegistration(env, { ...sent, maxTtl, data }),
    handle: async ({ env, installation, request, prepared }) =>
      grantedReply(await registerLease(env, installation, prepared, request.notes)),
  }),
  tokenRoute("update", "sys/leases/signing-key", {
    summary: "Returns the key by which a target verifies revocations.",
    operationId: "leases-read-signing-key",
    answers: dataAnswer({ key: "string", algorithm: "string", header: "string" }),
    input: fieldSchema({ target: text().describe("The URL that receives the revocations") }),
    prepare: async ({ env, fields }) => {
      const target = readRevocationEndpoint(fields.target, endpointSettings(env));
      return target.ok ? target : refuse(target.error);
    },
    handle: async ({ installation, prepared }) => {
      const key = await signingKey(installation.keys, prepared);
      return dataReply({ key: toBase64(key), algorithm: "HMAC-SHA256", header: SIGNATURE_HEADER });
    },
  }),
];
