import { isPublicHost } from "../../../base/public-host.ts";
import { parseEndpoint } from "../sts/origin.ts";

/**
 * Why the URL of a service endpoint is refused, as a phrase without the URL, or null; "" means the cloud's own endpoint.
 *
 * Only https, and only hosts of the public internet. An address must be in its usual spelling, since filters and clients
 * read `0177.0.0.1` and `2130706433` differently.
 */
export function endpointProblem(url: string, allowPrivate: boolean): string | null {
  if (url === "") return null;
  const endpoint = parseEndpoint(url);
  if (!endpoint) return "must be a URL of scheme, host in lower case and perhaps a plain path, without user or query";
  const host = endpoint.authority.replace(/:\d+$/, "");
  if (!URL.canParse(url) || new URL(url).hostname !== host) return "must name its host in the usual spelling";
  if (allowPrivate) return null;
  if (endpoint.scheme !== "https") return "must be an https URL";
  return isPublicHost(host) ? null : "must not be a private, loopback or link-local address";
}
