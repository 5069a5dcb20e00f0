import type { Failure } from "../errors.ts";
import { toWire } from "./failure.ts";
import type { AuthReply, Reply } from "./reply.ts";

const HEADERS = {
  "Content-Type": "application/json",
  // Answers hold tokens; nothing on the way may keep them.
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

/** Statuses that can't have a body; a client can ask the health endpoint for them. */
const NO_BODY = new Set([204, 205, 304]);

/** The response for a reply, with the warnings that the pipeline adds. */
export function renderReply(requestId: string, reply: Reply, warnings: readonly string[]): Response {
  if (reply.kind === "plain") return respond(reply.status, reply.body);
  const all = [...(reply.warnings ?? []), ...warnings];
  if (reply.kind === "empty" && all.length === 0) return new Response(null, { status: 204, headers: HEADERS });
  const data = reply.kind === "data" ? reply.data : null;
  const envelope = {
    request_id: requestId,
    lease_id: "",
    renewable: false,
    lease_duration: 0,
    data: data && sorted(data),
    wrap_info: null,
    warnings: all.length > 0 ? all : null,
    auth: reply.kind === "auth" ? renderAuth(reply.auth) : null,
  };
  const inject = reply.kind === "data" && reply.inject ? data : null;
  return respond(reply.kind === "data" ? (reply.status ?? 200) : 200, inject ? { ...inject, ...envelope } : envelope);
}

/** The response for a failure. */
export function renderFailure(failure: Failure): Response {
  const { status, errors, headers } = toWire(failure);
  return respond(status, { errors }, headers);
}

function respond(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  if (NO_BODY.has(status)) return new Response(null, { status, headers: HEADERS });
  return new Response(`${JSON.stringify(body)}\n`, { status, headers: { ...HEADERS, ...headers } });
}

function renderAuth(auth: AuthReply): Record<string, unknown> {
  const policies = [...new Set([...auth.tokenPolicies, ...auth.identityPolicies])].sort();
  return {
    client_token: auth.clientToken,
    accessor: auth.accessor,
    policies,
    ...(auth.tokenPolicies.length > 0 && { token_policies: auth.tokenPolicies }),
    ...(auth.identityPolicies.length > 0 && { identity_policies: auth.identityPolicies }),
    metadata: auth.metadata,
    lease_duration: auth.leaseDuration,
    renewable: auth.renewable,
    entity_id: auth.entityId,
    token_type: auth.tokenType,
    orphan: auth.orphan,
    mfa_requirement: null,
    num_uses: auth.numUses,
  };
}

function sorted(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
