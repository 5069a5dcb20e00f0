import { err, type Failure, ok, type Result, refuse } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import type { Operation } from "../../policy/operation.ts";
import { readSender } from "../../wire/cross-site.ts";
import type { Dialect } from "../../wire/dialect.ts";
import { toWire, type WireFailure } from "../../wire/failure.ts";
import { operationOfMethod } from "../../wire/http-method.ts";
import { parseJsonObject } from "../../wire/json.ts";
import type { Reply } from "../../wire/reply.ts";
import {
  type GroveRequest,
  type RequestHead,
  readBaseUrl,
  readBodyText,
  readNamespace,
  readParameters,
  readTokenHeader,
} from "../../wire/request.ts";
import { type Resource, readDocument } from "./routes.ts";

const MEDIA_TYPE = "application/vnd.api+json";

/**
 * The only query parameter of a write: the kind of an organization's token. It counts as an attribute, so policies can
 * restrict it, and routes that don't know it refuse it.
 */
const WRITE_PARAMETER = "token";

/** Reads a request. Its fields, which policies can limit, are the attributes in a write, and the query in a read. */
async function readRequest(request: Request, head: RequestHead, env: Env, id: string): Promise<Result<GroveRequest>> {
  const { path } = head;
  if (!path.ok) return path;
  // This interface has no PUT.
  const operation = request.method === "PUT" ? null : operationOfMethod(request.method);
  if (!operation) return err({ code: "unknown_method" });
  const namespace = readNamespace(request.headers.get("X-Vault-Namespace"));
  if (namespace) return err(namespace);
  // Refused and not ignored: an unwrapped answer would show the secret to the carrier of the wrapping token.
  if (request.headers.get("X-Vault-Wrap-TTL")) return refuse("answers of this interface can't be wrapped");
  const content = await readFields(request, env, operation, head.query);
  if (!content.ok) return content;
  const baseUrl = () => readBaseUrl(head, request.headers, env);
  return ok({
    id,
    baseUrl,
    sender: () => readSender(request.headers, baseUrl),
    operation,
    path: path.value,
    data: content.value.attributes,
    unreadNames: [],
    resourceType: content.value.type,
    token: readTokenHeader(request.headers),
    wrapTtlSeconds: 0,
    clientAddress: head.clientAddress,
    notes: {},
  });
}

/** The attributes of a write, the resource identifiers of a deletion of several resources, or the query. */
async function readFields(request: Request, env: Env, operation: Operation, query: URLSearchParams) {
  const isWrite = operation === "update" || operation === "patch";
  const body = isWrite || operation === "delete" ? await readBody(request, env) : ok(null);
  if (!body.ok) return body;
  if (isWrite) return withParameter(body.value ? readDocument(body.value) : ok({ type: "", attributes: {} }), query);
  const fields = body.value ? ok(body.value) : readParameters(query);
  return fields.ok ? ok({ type: "", attributes: fields.value }) : fields;
}

function withParameter(document: Result<Resource>, query: URLSearchParams): Result<Resource> {
  if (!document.ok || !query.has(WRITE_PARAMETER)) return document;
  const values = query.getAll(WRITE_PARAMETER);
  const { type, attributes } = document.value;
  if (values.length > 1 || Object.hasOwn(attributes, WRITE_PARAMETER)) {
    return refuse(`${WRITE_PARAMETER} was given more than once`);
  }
  return ok({ type, attributes: { ...attributes, [WRITE_PARAMETER]: values[0] } });
}

/** Reads the document in the body; null without a body, whatever the content type. */
async function readBody(request: Request, env: Env): Promise<Result<Record<string, unknown> | null>> {
  const text = await readBodyText(request, env);
  if (!text.ok) return text;
  if (text.value.trim() === "") return ok(null);
  const type = (request.headers.get("Content-Type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== MEDIA_TYPE) {
    return err({ code: "unsupported_media_type", message: `the content type of a body must be ${MEDIA_TYPE}` });
  }
  const parsed = parseJsonObject(text.value);
  return parsed.ok ? parsed : refuse(parsed.error);
}

/**
 * Headers that clients read first. With the name of the hosted product, clients would expect all of its features. The
 * version is the first with token TTL policies: the tfe provider refuses to manage them otherwise. No rate limit is
 * announced, because clients would slow themselves down.
 */
const HEADERS = {
  "Content-Type": MEDIA_TYPE,
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "TFP-API-Version": "2.6",
  "TFP-AppName": "Grove",
  "X-TFE-Current-Version": "2.0.1",
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

/** Makes the response for a reply: a document, or nothing. */
export function renderReply(_requestId: string, reply: Reply, _warnings: readonly string[]): Response {
  if (reply.kind === "empty") return new Response(null, { status: 204, headers: HEADERS });
  if (reply.kind !== "plain") throw new Error(`this interface has no answer of the kind "${reply.kind}"`);
  return respond(reply.status, reply.body);
}

/** Makes the response for a failure: its first message, and the part of the request that is wrong. */
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

/**
 * Returns the status and messages of a failure. A refusal by the policies and a missing resource have the
 * same answer, so that a caller does not learn what exists. 401 is only about the token.
 */
function toJsonApi(failure: Failure): WireFailure {
  if (failure.code === "unauthenticated") {
    const errors = ["the token is missing, unknown or expired"];
    return { status: 401, errors, headers: { "WWW-Authenticate": "Bearer" } };
  }
  const wire = toWire(failure);
  const isHidden = failure.code === "permission_denied" || wire.status === 404;
  return isHidden ? { status: 404, errors: ["there is no such resource, or you may not see it"] } : wire;
}

function respond(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${JSON.stringify(body)}\n`, { status, headers: { ...HEADERS, ...headers } });
}

/** JSON:API 1.0, the dialect of the interface of teams. */
export const JSON_API: Dialect = {
  readRequest,
  renderReply,
  renderFailure,
  namesLimits: false,
  described: {
    mediaType: MEDIA_TYPE,
    patchType: MEDIA_TYPE,
    base: "/api/v2",
    tag: "teams",
    prefix: "Teams",
    refusal: {
      errors: [
        {
          status: "string",
          title: "string",
          detail: "string",
          "source?": { "pointer?": "string", "parameter?": "string" },
        },
      ],
    },
    statuses: { all: ["400", "404"], withToken: ["401", "403"], writes: ["422"] },
    queriesDeletions: true,
    bodyOf: (attributes) => ({
      type: "object",
      properties: {
        data: { type: "object", required: ["type"], properties: { type: { type: "string" }, attributes } },
      },
    }),
  },
};
