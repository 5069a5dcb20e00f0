import { connect } from "node:tls";
import { codeOf } from "../local/error-code.ts";

/** Thrown in place of an answer, with a message for the operator. */
export class NoAnswer extends Error {}

/** How long a server may take to say that it speaks TLS. */
const PROBE_MS = 5_000;

const CLOSED = "the connection was closed";
const LATE = "none came in time";

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "there is no host of this name",
  EAI_AGAIN: "the name of the host can't be looked up",
  ERR_INVALID_URL: "that is no address",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  UND_ERR_CONNECT_TIMEOUT: LATE,
  UND_ERR_HEADERS_TIMEOUT: LATE,
  UND_ERR_BODY_TIMEOUT: LATE,
};

/** Texts for the messages of fetch that have no code. */
const MESSAGES: ReadonlyMap<string, string> = new Map([
  ["unexpected redirect", "it leads to another address, which would get the token: give that one"],
  ["bad port", "fetch calls no server at this port"],
]);

/** Certificates that no known authority has signed. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** Answers of proxies to plain HTTP on a port for HTTPS. */
const SENT_IN_THE_CLEAR = /HTTP request (?:was sent )?to (?:an )?HTTPS (?:port|server)/i;

/** True when an answer says that its port speaks TLS and was sent plain HTTP. */
export function wantsTls(body: string): boolean {
  return SENT_IN_THE_CLEAR.test(body);
}

/** Says that the port speaks TLS. */
export function tlsThere(address: string): string {
  return `it speaks TLS there: try ${address.replace(/^http:/, "https:")}`;
}

/**
 * The text for the operator about an error of fetch. Its own messages are not repeated: those about a header, a body or
 * an address contain the whole text, and with it a token, a key or a password.
 */
export function failureText(error: unknown): string {
  if (error instanceof NoAnswer) return error.message;
  if (error instanceof Error && error.name === "TimeoutError") return LATE;
  const cause = causeOf(error);
  const code = codeOf(cause);
  if (code === OTHER_NAME) return otherNameText(cause);
  if (code !== undefined) return REASONS[code] ?? code;
  const known = cause instanceof Error ? MESSAGES.get(cause.message) : undefined;
  return known ?? "the request could not be sent";
}

const OTHER_NAME = "ERR_TLS_CERT_ALTNAME_INVALID";
/** Most names of a certificate that are shown. */
const SHOWN_NAMES = 5;

/** Lists the names in the certificate, which is a property of Node's error. */
function otherNameText(error: unknown): string {
  const cert = error instanceof Error && "cert" in error ? error.cert : null;
  const listed = typeof cert === "object" && cert !== null && "subjectaltname" in cert ? cert.subjectaltname : "";
  const names = typeof listed === "string" ? [...listed.matchAll(/(?:DNS|IP Address):([^,\s]+)/g)] : [];
  const shown = names.slice(0, SHOWN_NAMES).map(([, name]) => name);
  const all = [...shown, ...(names.length > shown.length ? [`${names.length - shown.length} more`] : [])];
  return `its certificate is of another name${all.length === 0 ? "" : `: ${all.join(", ")}`}`;
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? error.cause : error;
}

/** Faults of the address, or of what is there. */
const LASTING: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ENOTFOUND", "ERR_INVALID_URL", OTHER_NAME, "CERT_HAS_EXPIRED"],
  ...UNTRUSTED,
]);

/** True when another try soon would most likely fail in the same way, as where nothing listens. */
export function isLasting(error: unknown): boolean {
  const cause = causeOf(error);
  return LASTING.has(codeOf(cause) ?? "") || (cause instanceof Error && MESSAGES.has(cause.message));
}

/**
 * Says for an operator why no answer came from an address.
 *
 * @param error what fetch has thrown.
 */
export async function whyNoAnswer(error: unknown, address: string): Promise<string> {
  const cause = causeOf(error);
  const code = codeOf(cause) ?? "";
  const isTls = address.startsWith("https:");
  if (isTls && /^(?:ERR_SSL_|EPROTO)/.test(code)) {
    return `it does not speak TLS there: try ${address.replace(/^https:/, "http:")}`;
  }
  if (UNTRUSTED.has(code)) {
    return "its certificate is of no authority known here: VAULT_CACERT=FILE names its authority";
  }
  // A TLS port closes a connection that begins with HTTP. So does a server that stops, or one that does not speak HTTP.
  // Where no TLS socket can be made, the probe fails.
  const mayBeTls = !isTls && (CLOSES.has(code) || code.startsWith("HPE_"));
  if (mayBeTls && (await speaksTls(address).catch(() => false))) return tlsThere(address);
  return code.startsWith("HPE_") ? "it does not speak HTTP there" : failureText(error);
}

const CLOSES: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** True when a server completes a TLS handshake. No request is sent. */
function speaksTls(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address);
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    // The certificate is not verified: the probe only asks whether the port speaks TLS.
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false, timeout: PROBE_MS });
    const answer = (isTls: boolean) => (): void => {
      socket.destroy();
      resolve(isTls);
    };
    socket.once("secureConnect", answer(true)).once("error", answer(false)).once("timeout", answer(false));
    socket.once("close", answer(false));
  });
}
