import type { Failure } from "../../base/errors.ts";
import { toJsonApi } from "../../wire/failure.ts";
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

/** The response for a failure: its first message, with the part of the request that it is about. */
export function renderFailure(failure: Failure): Response {
  const { status, errors, headers } = toJsonApi(failure);
  const error = {
    status: String(status),
    title: (failure.code === "invalid_document" && failure.title) || (TITLES[status] ?? "error"),
    detail: errors[0] ?? TITLES[status] ?? "",
    ...(failure.code === "invalid_document" && { source: { pointer: failure.pointer } }),
    ...(failure.code === "invalid_parameter" && { source: { parameter: failure.parameter } }),
  };
  return respond(status, { errors: [error] }, headers);
}

function respond(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${JSON.stringify(body)}\n`, { status, headers: { ...HEADERS, ...headers } });
}
