import type { Failure } from "../../base/errors.ts";
import { toWire } from "../../wire/failure.ts";
import type { Reply } from "../../wire/reply.ts";
import { MEDIA_TYPE } from "./request.ts";

/**
 * What clients read before anything else. The application must not call itself by the name of the hosted product, or
 * clients take everything for granted that this has. No rate limit is announced, because there is none: clients would slow
 * themselves down.
 */
const HEADERS = {
  "Content-Type": MEDIA_TYPE,
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "TFP-API-Version": "2.6",
  "TFP-AppName": "Grove",
};

const TITLES: Readonly<Record<number, string>> = {
  400: "bad request",
  401: "unauthorized",
  403: "forbidden",
  404: "not found",
  405: "method not allowed",
  413: "payload too large",
  415: "unsupported media type",
  422: "invalid attribute",
  429: "too many requests",
  500: "internal error",
  503: "service unavailable",
};

/** The response for a reply of a handler of this interface: a document, or nothing. */
export function renderReply(_requestId: string, reply: Reply, _warnings: readonly string[]): Response {
  if (reply.kind === "empty") return new Response(null, { status: 204, headers: HEADERS });
  if (reply.kind !== "plain") throw new Error(`this interface has no answer of the kind "${reply.kind}"`);
  return respond(reply.status, reply.body);
}

/**
 * The response for a failure. What the caller may not see does not exist for it: a refusal by the policies and a missing
 * resource are the same answer. 401 is about the token alone.
 */
export function renderFailure(failure: Failure): Response {
  const { status, headers, detail } = describe(failure);
  const error = {
    status: String(status),
    title: (failure.code === "invalid_document" && failure.title) || (TITLES[status] ?? "error"),
    detail,
    ...(failure.code === "invalid_document" && { source: { pointer: failure.pointer } }),
    ...(failure.code === "invalid_parameter" && { source: { parameter: failure.parameter } }),
  };
  return respond(status, { errors: [error] }, headers);
}

function describe(failure: Failure): { status: number; headers?: Readonly<Record<string, string>>; detail: string } {
  if (failure.code === "unauthenticated") {
    return {
      status: 401,
      headers: { "WWW-Authenticate": "Bearer" },
      detail: "the token is missing, unknown or expired",
    };
  }
  const wire = toWire(failure);
  const status = failure.code === "permission_denied" ? 404 : wire.status;
  if (status === 404) return { status, detail: "there is no such resource, or you may not see it" };
  return { ...wire, status, detail: wire.errors[0] ?? TITLES[status] ?? "" };
}

function respond(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${JSON.stringify(body)}\n`, { status, headers: { ...HEADERS, ...headers } });
}
