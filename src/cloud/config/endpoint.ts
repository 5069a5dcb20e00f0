import ipaddr from "ipaddr.js";
import type { Env } from "../../env.ts";
import { parseEndpoint } from "../sts/origin.ts";

/** Names that lead into a private network, or nowhere, with everything below them. */
const PRIVATE_NAMES = ["localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa"];

/** True when operators may configure endpoints without TLS and in private networks: for development. */
export function allowsPrivateEndpoints(env: Pick<Env, "ALLOW_PRIVATE_ENDPOINTS">): boolean {
  return env.ALLOW_PRIVATE_ENDPOINTS === "true";
}

/**
 * Why the URL of a service endpoint is refused, as a phrase without the URL, or null; "" means the cloud's own endpoint.
 *
 * Whoever may configure a mount is not thereby someone who may send requests from here into the network around: only
 * https, and only hosts that are public by their name or address. An address must be in its usual spelling, since
 * filters and clients read `0177.0.0.1` and `2130706433` differently.
 */
export function endpointProblem(url: string, allowPrivate: boolean): string | null {
  if (url === "") return null;
  const origin = parseEndpoint(url);
  if (!origin) return "must be a URL of scheme and host, in lower case and without user, path or query";
  const host = origin.authority.replace(/:\d+$/, "");
  if (!URL.canParse(url) || new URL(url).hostname !== host) return "must name its host in the usual spelling";
  if (allowPrivate) return null;
  if (origin.scheme !== "https") return "must be an https URL";
  return isPublicHost(host) ? null : "must not be a private, loopback or link-local address";
}

function isPublicHost(host: string): boolean {
  if (ipaddr.isValid(host)) return ipaddr.parse(host).range() === "unicast";
  const name = `.${host}`;
  return host.includes(".") && !PRIVATE_NAMES.some((suffix) => name.endsWith(`.${suffix}`));
}
