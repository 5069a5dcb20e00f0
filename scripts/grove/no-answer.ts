import { connect } from "node:tls";
import { codeOf } from "../local/error-code.ts";

/** How long a server may take to say that it speaks TLS. */
const PROBE_MS = 5_000;

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "there is no host of this name",
  EAI_AGAIN: "the name of the host can't be looked up",
  ERR_INVALID_URL: "that is no address",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is of another name",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
};

/** Certificates that no known authority has signed. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** What proxies answer to HTTP at a port of HTTPS. */
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
 * Says for an operator why no answer came from an address.
 *
 * @param error what fetch has thrown.
 */
export async function whyNoAnswer(error: unknown, address: string): Promise<string> {
  if (error instanceof Error && error.name === "TimeoutError") return "none came in time";
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = codeOf(cause) ?? "";
  const isTls = address.startsWith("https:");
  if (isTls && /^(?:ERR_SSL_|EPROTO)/.test(code)) {
    return `it does not speak TLS there: try ${address.replace(/^https:/, "http:")}`;
  }
  if (UNTRUSTED.has(code)) {
    return "its certificate is of no authority known here: NODE_EXTRA_CA_CERTS=FILE names its authority";
  }
  const reason = REASONS[code];
  if (reason !== undefined) return reason;
  // A port of TLS closes a connection that begins with HTTP, as does a server that ends.
  // Where no TLS socket can be made, that question has no answer.
  if (!isTls && (await speaksTls(address).catch(() => false))) return tlsThere(address);
  return cause instanceof Error ? cause.message : String(cause);
}

/** True when a server shakes hands by TLS. Nothing is sent to it. */
function speaksTls(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address);
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    // Its certificate does not matter: the question is whether it has one.
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false, timeout: PROBE_MS });
    const answer = (isTls: boolean) => (): void => {
      socket.destroy();
      resolve(isTls);
    };
    socket.once("secureConnect", answer(true)).once("error", answer(false)).once("timeout", answer(false));
    socket.once("close", answer(false));
  });
}
