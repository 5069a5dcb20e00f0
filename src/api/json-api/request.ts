import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import type { Operation } from "../../policy/acl.ts";
import { parseJsonObject } from "../../wire/json.ts";
import {
  type GroveRequest,
  type RequestHead,
  readBaseUrl,
  readBodyText,
  readNamespace,
  readParameters,
  readToken,
} from "../../wire/request.ts";
import { readSender } from "../../wire/sender.ts";
import { type Resource, readDocument } from "./document.ts";

/** The media type of JSON:API. */
export const MEDIA_TYPE = "application/vnd.api+json";

const OPERATIONS: Readonly<Record<string, Operation>> = {
  GET: "read",
  HEAD: "head",
  POST: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/**
 * Reads a request of the interface of teams. Its fields, which policies can limit as elsewhere, are the attributes of the
 * resource in a write, and the query of a read.
 */
export async function readRequest(
  request: Request,
  head: RequestHead,
  env: Env,
  id: string,
): Promise<Result<GroveRequest, Failure>> {
  const { path } = head;
  if (!path.ok) return path;
  const operation = OPERATIONS[request.method];
  if (!operation) return err({ code: "unknown_method" });
  const namespace = readNamespace(request.headers.get("X-Vault-Namespace"));
  if (namespace) return err(namespace);
  // The answer to a request for a wrapped response must not be sent unwrapped: a carrier of the wrapping token would
  // see the secret.
  if (request.headers.get("X-Vault-Wrap-TTL")) return err(invalid("answers of this interface can't be wrapped"));
  const content = await readFields(request, env, operation, head.query);
  if (!content.ok) return content;
  const baseUrl = () => readBaseUrl(head, request.headers, env);
  return ok({
    id,
    dialect: "json-api",
    baseUrl,
    sender: () => readSender(request.headers, baseUrl),
    operation,
    path: path.value,
    data: content.value.attributes,
    unreadNames: [],
    resourceType: content.value.type,
    token: readToken(request.headers),
    wrapTtlSeconds: 0,
    clientAddress: head.clientAddress,
    notes: {},
  });
}

/** The fields of a request: the attributes of a write, the resource identifiers of a deletion of several, the query else. */
async function readFields(
  request: Request,
  env: Env,
  operation: Operation,
  query: URLSearchParams,
): Promise<Result<Resource, Failure>> {
  if (operation !== "update" && operation !== "patch" && operation !== "delete") return readQuery(query);
  const document = await readBody(request, env);
  if (!document.ok) return document;
  if (operation === "delete") return document.value ? ok(withoutType(document.value)) : readQuery(query);
  return document.value ? readDocument(document.value) : ok(withoutType({}));
}

/** A write without a body is one without attributes, whatever its content type. */
async function readBody(request: Request, env: Env): Promise<Result<Record<string, unknown> | null, Failure>> {
  const text = await readBodyText(request, env);
  if (!text.ok) return text;
  if (text.value.trim() === "") return ok(null);
  const type = (request.headers.get("Content-Type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== MEDIA_TYPE) {
    return err({ code: "unsupported_media_type", message: `the content type of a body must be ${MEDIA_TYPE}` });
  }
  const parsed = parseJsonObject(text.value);
  return parsed.ok ? parsed : err(invalid(parsed.error));
}

function readQuery(query: URLSearchParams): Result<Resource, Failure> {
  const parameters = readParameters(query);
  return parameters.ok ? ok(withoutType(parameters.value)) : parameters;
}

function withoutType(fields: Record<string, unknown>): Resource {
  return { type: "", attributes: fields };
}
