import type { PrivateHosts } from "../../../base/private-hosts.ts";
import { outboundProblem } from "../../../base/public-host.ts";
import { parseEndpoint } from "../sts/origin.ts";

/**
 * Why the URL of a service endpoint is refused, as a phrase without the URL, or null; "" means the cloud's own endpoint.
 *
 * Only https and hosts of the public internet, but for those on the list. An address must be in its usual spelling, since filters and clients
 * read `0177.0.0.1` and `2130706433` differently.
 */
export function endpointProblem(url: string, listed: PrivateHosts): string | null {
  if (url === "") return null;
  const endpoint = parseEndpoint(url);
  if (!endpoint) return "must be a URL of scheme, host in lower case and perhaps a plain path, without user or query";
  const host = endpoint.authority.replace(/:\d+$/, "");
  if (!URL.canParse(url) || new URL(url).hostname !== host) return "must name its host in the usual spelling";
  const problem = outboundProblem(new URL(url), listed);
  if (problem === "scheme") return "must be an https URL";
  return problem === "host" ? "must not be a private, loopback or link-local address" : null;
}
