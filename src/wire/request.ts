import { parseFlag } from "../base/boolean.ts";
import type { Seconds } from "../base/clock.ts";
import { parseDuration } from "../base/duration.ts";
import { MAX_ADDRESS_LENGTH, MAX_PARAMETERS, MAX_PATH_LENGTH, MAX_TOKEN_LENGTH } from "../base/limits.ts";
import { hasUnprintable } from "../base/misleading-characters.ts";
import { numberSetting } from "../base/number-settings.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../base/result.ts";
import { withoutWhiteSpace } from "../base/white-space.ts";
import type { Env } from "../env.ts";
import { isListing, type Operation } from "../policy/operation.ts";
import type { AuditNotes } from "./audit.ts";
import { readSender, type Sender } from "./cross-site.ts";
import { operationOfMethod } from "./http-method.ts";
import { parseJsonObject } from "./json.ts";

export interface GroveRequest {
  readonly id: string;
  /** Returns origin and base path as the client used them, with a slash at the end. */
  readonly baseUrl: () => string;
  readonly sender: () => Sender;
  readonly operation: Operation;
  /** Decoded, without base path and leading slash; that of a list without the slash at the end. */
  readonly path: string;
  /** The fields of the body (of a document: the attributes of its resource), or of the query when there is no body. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Names in the query of a write, whose fields are read only from the body. */
  readonly unreadNames: readonly string[];
  /** The type of the resource in a document: "" without a document, null when the resource has none. */
  readonly resourceType: string | null;
  /** The token of the client; "" for none. A secret. */
  readonly token: string;
  /** 0: the answer is not wrapped. */
  readonly wrapTtlSeconds: Seconds;
  /** The client's address as the platform or the gateway reports it, or null. */
  readonly clientAddress: string | null;
  /** True: a list without names is no 404. */
  readonly takesEmptyList?: boolean;
  readonly notes: AuditNotes;
}

/** The head of a request. It is read once, because each property of `Request` is a call into the runtime. */
export interface RequestHead {
  readonly url: string;
  /** As sent, with the base path. */
  readonly pathname: string;
  readonly query: URLSearchParams;
  readonly path: Result<string>;
  readonly operation: Result<Operation>;
  readonly clientAddress: string | null;
}

/** Returns the operation of a head; "unknown" for an invalid one. */
export function operationOf({ operation }: Pick<RequestHead, "operation">): Operation | "unknown" {
  return operation.ok ? operation.value : "unknown";
}

/** The query of a request without a query. Never modified. */
const NO_QUERY = new URLSearchParams();

export function readHead(request: Request, env: Pick<Env, "CLIENT_ADDRESS_HEADER">): RequestHead {
  const { url } = request;
  const { pathname, query } = readUrl(url);
  return {
    url,
    pathname,
    query,
    path: readPath(pathname),
    operation: readOperation(request.method, query),
    clientAddress: readClientAddress(request.headers.get(env.CLIENT_ADDRESS_HEADER ?? "CF-Connecting-IP")),
  };
}

/** A longer text is no address. Without something in front that sets the header, it is a text of the client. */
function readClientAddress(text: string | null): string | null {
  return text?.slice(0, MAX_ADDRESS_LENGTH) ?? null;
}

/** An absolute URL with its path and its query. */
const URL_PARTS = /^https?:\/\/[^/?#]*([^?#]*)(?:\?([^#]*))?/;

/**
 * Returns the path and the query of an absolute URL, as they were sent. The parser of URLs would make another path of
 * one with a backslash or with a relative segment.
 */
export function readUrl(text: string): Pick<RequestHead, "pathname" | "query"> {
  const [, pathname = "", search = ""] = URL_PARTS.exec(text) ?? [];
  return { pathname: pathname || "/", query: search === "" ? NO_QUERY : new URLSearchParams(`?${search}`) };
}

/** The base paths. All of them serve the same routes. */
const BASE_PATHS = ["/v1/", "/api/v2/", "/"] as const;
const UNREADABLE_BODY = invalid("failed to decode JSON input: the body is incomplete or not valid UTF-8");
const UTF_8_STRICTLY = { fatal: true, ignoreBOM: false };
/** Decodes whole texts. It has no state between two calls. */
const WHOLE_TEXTS = new TextDecoder("utf-8", UTF_8_STRICTLY);
export const MERGE_PATCH = "application/merge-patch+json";
const NO_HOST = new URL("http://localhost/");
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Returns the decoded path below the base path; a refusal for an invalid one. */
export function readPath(pathname: string): Result<string> {
  let path: string;
  try {
    path = decodeURIComponent(pathname.slice(basePathOf(pathname).length));
  } catch {
    return refuse("the path is not valid percent-encoded UTF-8");
  }
  const problem = pathProblem(path);
  return problem ? refuse(problem) : ok(path);
}

/** Returns the problem with a path, or null. Policies and handlers see only valid paths. */
export function pathProblem(path: string): string | null {
  if (path.length > MAX_PATH_LENGTH) return "the path is too long";
  if (hasUnprintable(path)) return "the path holds characters that are not printable";
  const relative = path.includes(".") && path.split("/").some((segment) => segment === "." || segment === "..");
  return relative ? "relative paths not supported" : null;
}

/**
 * Returns origin and base path of a request as the client used them. A gateway or proxy reports the name that it was
 * called by. Its headers count only if `CLIENT_ADDRESS_HEADER` is set. Otherwise a client could send them and choose
 * the host that Grove's documents name.
 */
export function readBaseUrl(
  head: Pick<RequestHead, "url" | "pathname">,
  headers: Headers,
  env: Pick<Env, "CLIENT_ADDRESS_HEADER">,
): string {
  // Without a gateway or proxy in front, the client chooses the host.
  const url = URL.parse(head.url) ?? NO_HOST;
  const forwarded = (name: string) => (env.CLIENT_ADDRESS_HEADER === undefined ? null : headers.get(name)) ?? "";
  const host = forwarded("X-Forwarded-Host");
  const isHost = HOST.test(host) && URL.canParse(`http://${host}`);
  const scheme = forwarded("X-Forwarded-Proto");
  const protocol = scheme === "http" || scheme === "https" ? `${scheme}:` : url.protocol;
  return `${protocol}//${isHost ? host : url.host}${basePathOf(head.pathname)}`;
}

function basePathOf(pathname: string): string {
  return BASE_PATHS.find((prefix) => pathname.startsWith(prefix)) ?? "/";
}

/** The operation of a request. Refused: an unknown method (405), `list` or `scan` that are no flags, or both (400). */
export function readOperation(method: string, query: URLSearchParams): Result<Operation> {
  if (method !== "GET" || query === NO_QUERY) {
    const operation = operationOfMethod(method);
    return operation ? ok(operation) : err({ code: "unknown_method" });
  }
  if (parseFlag(query.get("help") ?? "")) return ok("help");
  const list = parseFlag(query.get("list") ?? "");
  const scan = parseFlag(query.get("scan") ?? "");
  if (list === null || scan === null) return refuse("list and scan must be true or false");
  if (list && scan) return refuse("list and scan can't be asked for together");
  return ok(list ? "list" : scan ? "scan" : "read");
}

/** Reads a request of Vault's API. Validates only its form. Messages are the reference's (every request). */
export async function readRequest(
  request: Request,
  head: RequestHead,
  env: Env,
  id: string,
): Promise<Result<GroveRequest>> {
  const { path, operation, query } = head;
  const { headers } = request;
  if (!path.ok) return path;
  if (!operation.ok) return operation;
  const writes = operation.value === "update" || operation.value === "patch";
  if (writes && path.value.endsWith("/")) return refuse("cannot write to a path ending in '/'");
  const wrapTtl = readWrapTtl(headers.get("X-Vault-Wrap-TTL"));
  if (!wrapTtl.ok) return wrapTtl;
  const namespace = readNamespace(headers.get("X-Vault-Namespace"));
  if (namespace) return err(namespace);
  if (operation.value === "patch" && !isMergePatch(headers)) {
    const message = `PATCH requires Content-Type of ${MERGE_PATCH}`;
    return err({ code: "unsupported_media_type", message });
  }
  const data = writes ? await readBody(request, env) : readQuery(query);
  if (!data.ok) return data;
  const baseUrl = () => readBaseUrl(head, headers, env);
  return ok({
    id,
    baseUrl,
    sender: () => readSender(headers, baseUrl),
    operation: operation.value,
    path: isListing(operation.value) ? path.value.replace(/\/+$/, "") : path.value,
    data: data.value,
    unreadNames: writes && query !== NO_QUERY ? [...query.keys()] : [],
    resourceType: "",
    token: readTokenHeader(headers),
    wrapTtlSeconds: wrapTtl.value,
    clientAddress: head.clientAddress,
    takesEmptyList: isListing(operation.value) && prefers(headers, "empty-list"),
    notes: {},
  });
}

/** True for a preference of the client (RFC 7240). A server may follow it or not. */
function prefers(headers: Headers, preference: string): boolean {
  const all = (headers.get("Prefer") ?? "").split(",");
  return all.some((one) => one.trim().toLowerCase() === preference);
}

const READS: ReadonlySet<Operation> = new Set(["read", "list", "scan", "help", "head"]);

/**
 * True for a request that can change something or issue a token. It is logged before it acts. A read acts only if its
 * answer is wrapped; the count of its token's uses is no such change.
 */
export function mayAct({ operation, wrapTtlSeconds }: GroveRequest): boolean {
  return wrapTtlSeconds > 0 || !READS.has(operation);
}

function isMergePatch(headers: Headers): boolean {
  const [type = ""] = (headers.get("Content-Type") ?? "").split(";");
  return type.trim().toLowerCase() === MERGE_PATCH;
}

/** Returns the parameters of a query. A repeated one is a list. */
export function readParameters(query: URLSearchParams): Result<Record<string, unknown>> {
  return groupByName(query, (values) => (values.length === 1 ? values[0] : values));
}

function readQuery(query: URLSearchParams): Result<Record<string, unknown>> {
  if (query === NO_QUERY) return ok({});
  const parameters = readParameters(query);
  if (!parameters.ok) return parameters;
  const { help, list, scan, ...fields } = parameters.value;
  return ok(fields);
}

async function readBody(request: Request, env: Env): Promise<Result<Record<string, unknown>>> {
  const text = await readBodyText(request, env);
  if (!text.ok) return text;
  const type = request.headers.get("Content-Type") ?? "";
  if (type.startsWith("application/x-www-form-urlencoded") && !/^\s*[{[]/.test(text.value)) {
    return groupByName(new URLSearchParams(text.value), (values) => values.join(","));
  }
  const parsed = parseJsonObject(text.value);
  return parsed.ok ? parsed : refuse(parsed.error);
}

/** Returns the body as text; "" without a body. Reads at most the limit, even if the announced length is wrong. */
export async function readBodyText(request: Request, env: Env): Promise<Result<string>> {
  const limit = numberSetting("MAX_BODY_BYTES", env.MAX_BODY_BYTES);
  const announced = request.headers.get("Content-Length");
  if (Number(announced ?? 0) > limit) return err({ code: "body_too_large" });
  // With a known length the body is read in one piece, at a third of the cost of its stream.
  if (announced !== null) return readWhole(request, limit);
  if (!request.body) return ok("");
  // These are before the try: a second reader of the body is a bug, and not the client's error.
  const decoder = new TextDecoder("utf-8", UTF_8_STRICTLY);
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
  let text = "";
  let size = 0;
  try {
    // The iterator of the stream costs more.
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      size += piece.value.byteLength;
      if (size > limit) return err({ code: "body_too_large" });
      text += decoder.decode(piece.value, { stream: true });
    }
    return ok(text + decoder.decode());
  } catch {
    return err(UNREADABLE_BODY);
  }
}

async function readWhole(request: Request, limit: number): Promise<Result<string>> {
  try {
    const bytes = await request.arrayBuffer();
    return bytes.byteLength > limit ? err({ code: "body_too_large" }) : ok(WHOLE_TEXTS.decode(bytes));
  } catch {
    return err(UNREADABLE_BODY);
  }
}

/** Groups the values by name in one pass. A look-up of each name would take minutes for a body of many short names. */
function groupByName(parameters: URLSearchParams, combined: (values: readonly string[]) => unknown) {
  if (parameters.size > MAX_PARAMETERS) return refuse("there are too many fields");
  const grouped = new Map<string, string[]>();
  for (const [name, value] of parameters) {
    const values = grouped.get(name);
    if (values) values.push(value);
    else grouped.set(name, [value]);
  }
  return ok(Object.fromEntries([...grouped].map(([name, values]) => [name, combined(values)])));
}

/** Returns the token of a request, from the first header that has one; "" for none. */
export function readTokenHeader(headers: Headers): string {
  const token = headers.get("X-Vault-Token") || headers.get("X-Service-Token") || readBearer(headers);
  return token.length <= MAX_TOKEN_LENGTH ? withoutWhiteSpace(token) : "";
}

function readBearer(headers: Headers): string {
  const authorization = headers.get("Authorization") ?? "";
  return authorization.startsWith("Bearer ") ? authorization.slice("Bearer ".length) : "";
}

function readWrapTtl(header: string | null): Result<number> {
  if (!header) return ok(0);
  const ttl = parseDuration(header);
  if (!ttl.ok) return refuse(`error parsing X-Vault-Wrap-TTL header: it ${ttl.error}`);
  if (ttl.value < 0) return refuse("error parsing X-Vault-Wrap-TTL header: requested wrap ttl cannot be negative");
  return ok(ttl.value);
}

/** The root namespace: nothing or its exact name, with or without a slash before and after it. */
const ROOT_NAMESPACE = /^(?:|\/|\/?root\/?)$/;

/** Returns the refusal of a namespace other than the root. */
export function readNamespace(header: string | null): Failure | null {
  return header === null || ROOT_NAMESPACE.test(header) ? null : { code: "unknown_namespace" };
}
