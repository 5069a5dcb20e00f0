import { formatRfc3339 } from "../base/clock.ts";
import type { Failure } from "../base/result.ts";
import type { Dialect } from "./dialect.ts";
import { toWire } from "./failure.ts";
import type { AuthReply, Reply, StoredAnswer, WrapInfo } from "./reply.ts";
import { MERGE_PATCH, readRequest } from "./request.ts";
import { view } from "./view.ts";

const MEDIA_TYPE = "application/json";

/** The dialect of Vault's API. */
export const VAULT: Dialect = {
  readRequest,
  renderReply,
  renderFailure,
  namesLimits: true,
  described: {
    mediaType: MEDIA_TYPE,
    patchType: MERGE_PATCH,
    base: "/v1",
    tag: null,
    prefix: "",
    refusal: { errors: ["string"] },
    statuses: { all: ["400"], withToken: ["403", "404"], writes: [] },
    queriesDeletions: false,
    bodyOf: (fields) => fields,
  },
};

const HEADERS = {
  "Content-Type": MEDIA_TYPE,
  // Answers contain tokens, which no cache may store.
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

/** `HEADERS` as an object of the runtime, which would convert a plain object again for each answer. */
const KEPT_HEADERS = new Headers(HEADERS);

/** Statuses without a body. A client can choose one of them for the health endpoint. */
const NO_BODY = new Set([204, 205, 304]);

function renderReply(requestId: string, reply: Reply, warnings: readonly string[]): Response {
  switch (reply.kind) {
    case "plain":
      return respond(
        reply.status,
        reply.body,
        reply.maxAge === undefined ? null : { "Cache-Control": `max-age=${reply.maxAge}` },
      );
    case "text":
      return new Response(reply.text, {
        status: reply.status,
        headers: { ...HEADERS, "Content-Type": reply.mediaType, ...reply.headers },
      });
    case "accepted":
      return new Response(null, { status: 202, headers: KEPT_HEADERS });
    case "stored":
      return new Response(reply.answer.text, { status: reply.answer.status, headers: KEPT_HEADERS });
    case "wrapped":
      return respond(200, { ...envelopeOf("", NO_DATA, warnings), wrap_info: WRAP_INFO_VIEW.show(reply.wrapInfo) });
    default: {
      if (reply.kind === "empty") return respond(204, null);
      const envelope = envelopeOf(requestId, reply, warnings);
      const inject = reply.kind === "data" && reply.inject ? reply.data : null;
      return respond(statusOf(reply), inject ? { ...inject, ...envelope } : envelope);
    }
  }
}

/** Returns the answer as wrapping stores it; null for one without a body, outside the envelope, or wrapped already. */
export function answerToWrap(requestId: string, reply: Reply, warnings: readonly string[]): StoredAnswer | null {
  const { kind } = reply;
  if (kind === "plain" || kind === "text" || kind === "wrapped" || kind === "accepted") return null;
  if (kind === "stored") return reply.answer;
  if (kind === "empty") return null;
  return { status: statusOf(reply), text: bodyText(envelopeOf(requestId, reply, warnings)) };
}

type EnvelopeReply = Extract<Reply, { kind: "data" | "auth" }>;

/** The envelope of a wrapping token has neither data nor an id. */
const NO_DATA = { kind: "data", data: null } as const;

function envelopeOf(requestId: string, reply: EnvelopeReply, warnings: readonly string[]) {
  const all = [...(reply.warnings ?? []), ...warnings];
  const lease = reply.kind === "data" ? reply.lease : undefined;
  return {
    request_id: requestId,
    lease_id: lease?.id ?? "",
    renewable: lease?.renewable ?? false,
    lease_duration: lease?.duration ?? 0,
    data: reply.kind === "data" && reply.data ? sorted(reply.data) : null,
    wrap_info: null,
    warnings: all.length > 0 ? all : null,
    auth: reply.kind === "auth" ? AUTH_VIEW.show(reply.auth) : null,
  };
}

function statusOf(reply: EnvelopeReply): number {
  return reply.kind === "data" ? (reply.status ?? 200) : 200;
}

function renderFailure(failure: Failure): Response {
  const { status, errors, headers } = toWire(failure);
  return respond(status, { errors }, headers);
}

function respond(status: number, body: unknown, headers: Readonly<Record<string, string>> | null = null): Response {
  if (NO_BODY.has(status)) return new Response(null, { status, headers: KEPT_HEADERS });
  return new Response(bodyText(body), { status, headers: headers ? { ...HEADERS, ...headers } : KEPT_HEADERS });
}

function bodyText(body: unknown): string {
  return `${JSON.stringify(body)}\n`;
}

/** A wrapping token in the envelope. */
export const WRAP_INFO_VIEW = view<WrapInfo>({
  token: ["string", (info) => info.token],
  accessor: ["string", (info) => info.accessor],
  ttl: ["integer", (info) => info.ttl],
  creation_time: ["string", (info) => formatRfc3339(info.createdAt)],
  creation_path: ["string", (info) => info.creationPath],
  "wrapped_accessor?": ["string", (info) => info.wrappedAccessor || undefined],
});

/** A token in the envelope. */
export const AUTH_VIEW = view<AuthReply>({
  client_token: ["string", (auth) => auth.clientToken],
  accessor: ["string", (auth) => auth.accessor],
  policies: [
    ["string"],
    ({ tokenPolicies, identityPolicies = [] }) => [...new Set([...tokenPolicies, ...identityPolicies])].sort(),
  ],
  "token_policies?": [["string"], ({ tokenPolicies }) => (tokenPolicies.length > 0 ? tokenPolicies : undefined)],
  "identity_policies?": [
    ["string"],
    ({ identityPolicies }) => (identityPolicies?.length ? identityPolicies : undefined),
  ],
  metadata: [
    "object | null",
    (auth) => (auth.secretMetadata ? { ...auth.metadata, ...auth.secretMetadata } : auth.metadata),
  ],
  lease_duration: ["integer", (auth) => auth.leaseDuration],
  renewable: ["boolean", (auth) => auth.renewable],
  entity_id: ["string", (auth) => auth.entityId],
  token_type: ["string", (auth) => auth.tokenType],
  orphan: ["boolean", (auth) => auth.orphan],
  mfa_requirement: ["object | null", () => null],
  num_uses: ["integer", (auth) => auth.numUses],
});

function sorted(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const names = Object.keys(data);
  // The keys of the most frequent answers are in order.
  if (names.every((name, at) => (names[at - 1] ?? "") <= name)) return data;
  return Object.fromEntries(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
