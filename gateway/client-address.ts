import { type BlockList, isIP } from "node:net";
import { clientNetworks, plainAddress } from "../src/base/client-network.ts";
import type { ShareNetworks } from "./client-shares.ts";

/** The address of a client that a trusted proxy names in an unreadable way. It is in no network. */
const UNKNOWN_ADDRESS = "unknown";

/** The client that makes a request. */
export interface Client {
  /** The address that the service may trust, or UNKNOWN_ADDRESS. */
  readonly address: string;
  /** Its networks, each with a share of each resource; none for a trusted proxy that makes a request for itself. */
  readonly networks: ShareNetworks;
  /** True when the peer is a trusted proxy. */
  readonly throughProxy: boolean;
}

/**
 * Finds the client of a request. X-Forwarded-For is read only if the peer is a trusted proxy: from the right, up to the
 * first address that is not a trusted proxy. Entries left of it were written by that client and are not trusted. If it
 * is unreadable, the client is unknown: with the address of the proxy it could use tokens that are bound to the proxy's
 * network. A proxy that sends no list makes the request for itself.
 *
 * @param peer address of the other end of the connection
 * @param forwardedFor values of the X-Forwarded-For headers, in order
 */
export function clientOf(peer: string, forwardedFor: readonly string[], trusted: BlockList): Client {
  let address = plainAddress(withoutZone(peer));
  const throughProxy = isTrusted(address, trusted);
  const claimed = forwardedFor.flatMap((value) => value.split(",")).map((part) => readAddress(part.trim()));
  while (isTrusted(address, trusted)) {
    const next = claimed.pop();
    if (next === undefined) return { address, networks: [], throughProxy };
    address = next;
  }
  return { address, networks: clientNetworks(address), throughProxy };
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 6 ? "ipv6" : "ipv4");
}

/** Reads an entry of X-Forwarded-For without port and brackets, such as `203.0.113.9:4711` or `[2001:db8::1]:443`. */
function readAddress(text: string): string {
  const [, ipv6, ipv4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? [];
  const address = plainAddress(withoutZone(ipv6 ?? ipv4 ?? text));
  return isIP(address) === 0 ? UNKNOWN_ADDRESS : address;
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, "");
}
