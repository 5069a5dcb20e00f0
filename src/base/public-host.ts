import ipaddr from "ipaddr.js";
import { isListed, type PrivateHosts } from "./private-hosts.ts";

/** Names that lead into a private network, or nowhere, with everything below them. */
const PRIVATE_NAMES: ReadonlySet<string> = new Set([
  ...["localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private"],
  "home.arpa",
]);

const GIVEN_OUT = ipaddr.parseCIDR("2000::/3");

/**
 * Why no request may go to `url`, or null: "scheme" when it must be https, "host" when it leads nowhere on the public internet.
 * Every request to a host that somebody configures is checked by this where it goes out: the list may have become shorter.
 *
 * @param listed hosts that are allowed besides, also without TLS.
 */
export function outboundProblem(url: URL, listed: PrivateHosts): "scheme" | "host" | null {
  const isOnList = isListed(listed, url.hostname);
  if (url.protocol !== "https:" && !(isOnList && url.protocol === "http:")) return "scheme";
  return isOnList || isPublicHost(url.hostname) ? null : "host";
}

/**
 * True for a host of the public internet, by its name or address. A caller that chooses the host of a request must not
 * reach hosts that only this service can reach. A public name that leads to a private address is for the
 * network that the service runs in to refuse: the platform's edge reaches public addresses only.
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

/** Of IPv6 only what is given out: outside of it lies for example `::127.0.0.1`, which some systems take for the IPv4 address. */
function isPublicAddress(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address.range() === "unicast" && (address.kind() === "ipv4" || address.match(GIVEN_OUT));
}
