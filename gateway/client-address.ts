import { type BlockList, isIP } from "node:net";
import { clientNetwork } from "../src/base/client-network.ts";
import type { ShareKey } from "./shares.ts";

/** The address of a client that a trusted proxy names in no way that can be read. It lies in no network. */
const UNKNOWN_ADDRESS = "unknown";

/** The client that makes a request. */
export interface Client {
  /** The address that the service may rely on, or UNKNOWN_ADDRESS. */
  readonly address: string;
  /** What its requests are counted under; null for a trusted proxy that asks for itself. */
  readonly shareKey: ShareKey;
  /** True when the peer is a trusted proxy, whose word on how it was called counts. */
  readonly throughProxy: boolean;
}

/**
 * The client of a request. What a client says of itself counts for nothing: X-Forwarded-For is read only when the peer is a
 * trusted proxy, and then from the right, up to the first address that is not a trusted proxy. Everything further left
 * was written by that client. Where the list can't be read there, the client is unknown: with the address of the proxy it
 * could use tokens that are bound to the proxy's network. A proxy that sends no list asks for itself.
 *
 * @param peer address of the other end of the connection
 * @param forwardedFor values of the X-Forwarded-For headers, in order
 */
export function clientOf(peer: string, forwardedFor: readonly string[], trusted: BlockList): Client {
  let address = plainAddress(peer);
  const throughProxy = isTrusted(address, trusted);
  const claimed = forwardedFor.flatMap((value) => value.split(",")).map((part) => readAddress(part.trim()));
  while (isTrusted(address, trusted)) {
    const next = claimed.pop();
    if (next === undefined) return { address, shareKey: null, throughProxy };
    address = next;
  }
  return { address, shareKey: clientNetwork(address), throughProxy };
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 6 ? "ipv6" : "ipv4");
}

/** An entry of X-Forwarded-For without port and brackets: `203.0.113.9:4711`, `[2001:db8::1]` and `[2001:db8::1]:443` are addresses. */
function readAddress(text: string): string {
  const [, ipv6, ipv4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? [];
  const address = plainAddress(ipv6 ?? ipv4 ?? text);
  return isIP(address) === 0 ? UNKNOWN_ADDRESS : address;
}

/** One spelling per address: no zone, and IPv4 as IPv4 also when the socket is an IPv6 one. */
function plainAddress(address: string): string {
  return address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}
