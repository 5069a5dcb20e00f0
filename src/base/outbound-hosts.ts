import ipaddr from "ipaddr.js";
import { err, ok, type Result } from "./result.ts";

type Block = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** Hosts outside the public internet to which operators allow requests, also without TLS. */
export interface PrivateHosts {
  /** In lower case. A name allows this host without its subdomains, at any address that it resolves to. */
  readonly names: ReadonlySet<string>;
  readonly blocks: readonly Block[];
}

/** An empty list: only public hosts are allowed. */
export const NO_PRIVATE_HOSTS: PrivateHosts = { names: new Set(), blocks: [] };

const NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?)*$/;
/** Texts that a URL parser reads as an IPv4 address: their last part is a number. */
const LIKE_AN_ADDRESS = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/** Reads a comma-separated list of addresses, CIDR blocks and host names. The error is the first invalid item. */
export function readPrivateHosts(list: string): Result<PrivateHosts, string> {
  const names = new Set<string>();
  const blocks: Block[] = [];
  for (const item of list === "" ? [] : list.split(",").map((part) => part.trim().toLowerCase())) {
    const block = blockOf(item);
    if (block) blocks.push(block);
    else if (NAME.test(item) && !LIKE_AN_ADDRESS.test(item)) names.add(item);
    else return err(item);
  }
  return ok({ names, blocks });
}

/** Returns the private hosts of this deployment. A list with an invalid item allows none. */
export function privateHosts(env: { readonly GROVE_PRIVATE_HOSTS?: string }): PrivateHosts {
  const list = env.GROVE_PRIVATE_HOSTS ?? "";
  if (list !== last.list) {
    const hosts = readPrivateHosts(list);
    last = { list, hosts: hosts.ok ? hosts.value : NO_PRIVATE_HOSTS };
  }
  return last.hosts;
}

/** Cache of the list that was read last: a deployment has one list. */
let last = { list: "", hosts: NO_PRIVATE_HOSTS };

/** True for a host on the list. @param host as the URL parser gives it. */
export function isListed({ names, blocks }: PrivateHosts, host: string): boolean {
  const { name, address } = readHost(host);
  if (names.has(name)) return true;
  if (address === null) return false;
  return blocks.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));
}

/**
 * A host in lower case without a trailing dot, and its address if it is one. @param host as the URL parser gives it.
 */
function readHost(host: string) {
  const name = host.replace(/\.$/, "").toLowerCase();
  const text = name.startsWith("[") ? name.slice(1, -1) : name;
  return { name, address: ipaddr.isValid(text) ? ipaddr.process(text) : null };
}

/** A block as text: `10.0.0.0/8`. */
export function blockText([address, bits]: Block): string {
  return `${address.toString()}/${bits}`;
}

function blockOf(item: string): Block | null {
  if (item.includes("/"))
    return ipaddr.isValidCIDR(item) && isUsual(item.slice(0, item.indexOf("/"))) ? ipaddr.parseCIDR(item) : null;
  if (!isUsual(item)) return null;
  const address = ipaddr.parse(item);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

/** True for an address in a notation that all parsers read in the same way: not `010.0.0.1`, `10.1` or `0x0a000001`. */
function isUsual(address: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(address) || (address.includes(":") && ipaddr.IPv6.isValid(address));
}

/** Names of private networks, and names that resolve nowhere. Includes all names below them. */
const PRIVATE_NAMES: ReadonlySet<string> = new Set([
  ...["localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private", "svc"],
  "home.arpa",
]);

const ALLOCATED_IPV6 = ipaddr.parseCIDR("2000::/3");

/** The phrase for each result of `outboundProblem`, without the URL. The caller puts the field's name before it. */
export const OUTBOUND_PROBLEMS = {
  scheme: "must be an https URL, unless --allow-private-host names its host",
  host: "must be a host on the public internet, or one that --allow-private-host names",
} as const;

/**
 * Returns why no request may be sent to `url`, or null: "scheme" when it must be https, "host" when it is not on the
 * public internet. `listed` private hosts are allowed too, also without TLS. Called before each request to a configured
 * host, not only when the host is configured: the list may have become shorter since.
 */
export function outboundProblem(url: URL, listed: PrivateHosts): "scheme" | "host" | null {
  const isOnList = isListed(listed, url.hostname);
  if (url.protocol !== "https:" && !(isOnList && url.protocol === "http:")) return "scheme";
  return isOnList || isPublicHost(url.hostname) ? null : "host";
}

/**
 * True for a host of the public internet, by its name or address. A client that chooses the host of a request must not
 * reach hosts that only this service can reach (SSRF). A public name that resolves to a private address must be refused
 * by the network of the service: Cloudflare's edge reaches public addresses only. The URL parser, which gives `host`,
 * turns every spelling of an IPv4 address into four decimal parts.
 */
function isPublicHost(host: string): boolean {
  const { name, address } = readHost(host);
  // IPv6 only in the allocated range: some systems read addresses outside it, such as `::127.0.0.1`, as IPv4.
  if (address) return address.range() === "unicast" && (address.kind() === "ipv4" || address.match(ALLOCATED_IPV6));
  const labels = name.split(".");
  return (
    labels.length > 1 &&
    // Some resolvers drop the empty ends of `localhost..`.
    !labels.includes("") &&
    !PRIVATE_NAMES.has(labels.slice(-1).join(".")) &&
    !PRIVATE_NAMES.has(labels.slice(-2).join("."))
  );
}
