import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader } from "./byte-reader.ts";
import { announcesBody, type HeadError, type Headers, readHead, UNKNOWN_CODING, valuesOf } from "./message-head.ts";
import { badRequest, type Refusal } from "./refusal.ts";

interface RequestLine {
  readonly method: string;
  /** Origin form: starts with a slash. */
  readonly target: string;
  /** True for an HTTP/1.0 client, which does not understand a chunked answer. */
  readonly http10: boolean;
}

/** A request line and its headers, checked. */
export interface RequestHead extends RequestLine, Headers {
  /** False when the client wants the connection closed after the answer. */
  readonly keepAlive: boolean;
  /** True when the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
}

/** Anything else is refused before it costs a connection to the service; LIST is what the gateway is for. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "LIST"]);

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~]+) HTTP\/(\d)\.(\d)$/;
const HOST = /^[A-Za-z0-9._~!$&'()*+,;=:%[\]-]*$/;

/**
 * Reads one request's head.
 *
 * @returns a refusal (400, 405, 417, 431) after which the connection must close
 */
export async function readRequestHead(reader: ByteReader): Promise<Result<RequestHead, HeadError>> {
  const head = await readHead(reader, parseRequestLine);
  if (!head.ok) return head;
  const { http10, headers, body, options } = head.value;
  const hosts = valuesOf(headers, "host");
  const hostMissing = hosts.length === 0 && !http10;
  if (hostMissing || hosts.length > 1 || !HOST.test(hosts[0] ?? "")) {
    return err(badRequest("exactly one valid Host header is needed"));
  }
  if (body.kind === "chunked" && http10) return err(UNKNOWN_CODING);
  const expectations = valuesOf(headers, "expect");
  if (expectations.some((value) => value.toLowerCase() !== "100-continue")) {
    return err({ status: 417, message: "only the expectation 100-continue is known" });
  }
  const expectsContinue = expectations.length > 0 && !http10 && announcesBody(body);
  return ok({ ...head.value, keepAlive: !http10 && !options.has("close"), expectsContinue });
}

function parseRequestLine(line: string): Result<RequestLine, Refusal> {
  const [, method, target, major, minor] = REQUEST_LINE.exec(line) ?? [];
  if (method === undefined || target === undefined) return err(badRequest("malformed request line"));
  if (major !== "1" || (minor !== "0" && minor !== "1")) return err(badRequest("only HTTP/1.1 is spoken here"));
  if (!METHODS.has(method)) return err({ status: 405 });
  // A fragment never belongs on the wire, and an absolute target would name a host of the client's choice.
  if (!target.startsWith("/") || target.includes("#")) return err(badRequest("the request target must be a path"));
  return ok({ method, target, http10: minor === "0" });
}
