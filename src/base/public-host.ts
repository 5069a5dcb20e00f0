import ipaddr from "ipaddr.js";
import { isListed, type PrivateHosts } from "./private-hosts.ts";

/** Names of private networks, and names that resolve nowhere. Includes all names below them. */
const PRIVATE_NAMES: ReadonlySet<string> = new Set([
  ...["localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private"],
  "home.arpa",
]);

const GIVEN_OUT = ipaddr.parseCIDR("2000::/3");

/**
 * Returns why no request may be sent to `url`, or null: "scheme" when it must be https, "host" when it is not on the
 * public internet. Called before each request to a configured host, not only when the host is configured: the list may
 * have become shorter since.
 *
 * @param listed private hosts that are allowed too, also without TLS.
 */
export function outboundProblem(url: URL, listed: PrivateHosts): "scheme" | "host" | null {
  const isOnList = isListed(listed, url.hostname);
  if (url.protocol !== "https:" && !(isOnList && url.protocol === "http:")) return "scheme";
  return isOnList || isPublicHost(url.hostname) ? null : "host";
}

/**
 * True for a host of the public internet, by its name or address. A client that chooses the host of a request must not
 * reach hosts that only this service can reach (SSRF). A public name that resolves to a private address must be refused
 * by the network of the service: Cloudflare's edge reaches public addresses only.
 *
 * @param host as the URL parser gives it, which turns every spelling of an IPv4 address into four decimal parts.
 */
function isPublicHost(host: string): boolean {
  const name = host.replace(/\.$/, "").toLowerCase();
  const address = name.startsWith("[") ? name.slice(1, -1) : name;
  if (ipaddr.isValid(address)) return isPublicAddress(ipaddr.process(address));
  const labels = name.split(".");
  return (
    labels.length > 1 &&
    // Some resolvers drop the empty ends of `localhost..`.
    !labels.includes("") &&
    !PRIVATE_NAMES.has(labels.slice(-1).join(".")) &&
    !PRIVATE_NAMES.has(labels.slice(-2).join("."))
  );
}

/** IPv6 only in the allocated range: some systems read addresses outside it, such as `::127.0.0.1`, as IPv4. */
function isPublicAddress(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address.range() === "unicast" && (address.kind() === "ipv4" || address.match(GIVEN_OUT));
}
