import ipaddr from "ipaddr.js";
import { err, ok, type Result } from "./result.ts";

/** A CIDR block. */
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

/**
 * Reads a comma-separated list of addresses, CIDR blocks and host names.
 *
 * @returns the hosts; the error is the first invalid item.
 */
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
  const name = host.replace(/\.$/, "").toLowerCase();
  if (names.has(name)) return true;
  const text = name.startsWith("[") ? name.slice(1, -1) : name;
  if (blocks.length === 0 || !ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return blocks.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));
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
