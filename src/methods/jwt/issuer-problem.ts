import type { NoAnswer } from "../../base/outbound-http.ts";
import { takesConnections } from "../../base/outbound-port.ts";
import { NO_ANSWER_CAUSES, noAnswerText } from "../no-answer.ts";

/** Why a document of an issuer can't be had. */
export interface IssuerProblem {
  /** A phrase for the answer to a login. Anybody can send a login, so it names no address. */
  readonly text: string;
  /**
   * The address that was asked, and the cause, for the operator who configures the mount. It can have URLs that a
   * document of the issuer names, so the log gets `text`.
   */
  readonly detail: string;
  /** The address, if no connection was made and the cause is not known yet. */
  readonly unconnected?: string;
}

/** Returns a problem after a step that failed. */
export function inStep(step: string, { text, detail, ...more }: IssuerProblem): IssuerProblem {
  return { ...more, text: `${step}: ${text}`, detail: `${step}: ${detail}` };
}

/** The problem with the answer of an address. @param cause a phrase. */
export function problemAt(url: string, cause: string, text = cause): IssuerProblem {
  return { text, detail: `${url}: ${cause}` };
}

/** The problem that an address gave no answer. */
export function noAnswerAt(url: string, why: NoAnswer): IssuerProblem {
  return {
    ...problemAt(url, NO_ANSWER_CAUSES[why], noAnswerText(why)),
    ...(why === "unreachable" && { unconnected: url }),
  };
}

/** Statuses by which Cloudflare's network says that it got no answer of a host. */
const OF_NETWORK: Readonly<Record<number, string>> = {
  521: "the host refuses the connection",
  522: "the host does not answer in time",
  523: "the host can't be reached",
  524: "the host does not answer in time",
  525: "TLS with the host fails",
  526: "the certificate of the host is not valid",
  530: "the name of the host does not resolve",
};

/** A status that is no success, in words. */
export function statusText(status: number): string {
  const meaning = OF_NETWORK[status];
  return `it answered ${status}${meaning === undefined ? "" : `, by which Cloudflare says that ${meaning}`}`;
}

/** A Worker on Cloudflare's network can't probe a port of a host that Cloudflare serves too: TLS may be the cause there. */
const BEHIND_NETWORK = ", or TLS fails with a host behind Cloudflare's network";

/**
 * Returns the detail of a problem, with the cause of a connection that was not made. The runtime's error is the same
 * for a name that does not resolve and for an untrusted certificate, so the port is probed. Only for operators.
 *
 * @param opens true when the host takes a connection at the port.
 */
export async function explained(
  { detail, unconnected }: IssuerProblem,
  opens: (host: string, port: number) => Promise<boolean> = takesConnections,
): Promise<string> {
  if (unconnected === undefined) return detail;
  const { protocol, hostname, port } = new URL(unconnected);
  const isTls = protocol === "https:";
  const isOpen = await opens(hostname, Number(port) || (isTls ? 443 : 80));
  // The host is not named again: masking the URL that a client sent would leave it.
  if (!isOpen)
    return `${detail}: its name does not resolve here, or its host is out of reach${isTls ? BEHIND_NETWORK : ""}`;
  return isTls ? `${detail}: TLS fails, as when its certificate is not trusted here or for another name` : detail;
}
