import { BlockList, isIP } from "node:net";
import { err, ok, type Result } from "../src/base/result.ts";

/** The address of a client that a trusted proxy names in no way that can be read. It lies in no network. */
const UNKNOWN_ADDRESS = "unknown";

/** Who made a request. */
export interface ClientAddress {
  /** The address that the service may rely on, or UNKNOWN_ADDRESS. */
  readonly address: string;
  /** The value for X-Forwarded-For: the addresses that a trusted proxy vouches for and the peer's own, or only the peer's. */
  readonly chain: string;
  /** True when the peer is a trusted proxy, whose word on how it was called counts. */
  readonly throughProxy: boolean;
}

/**
 * The addresses whose X-Forwarded-For is believed, from the value of `--trust-proxy`, as in `10.0.0.0/8,2001:db8::1`.
 * None without the flag. The error is a message for the operator.
 */
export function parseTrustedProxies(text: string | undefined): Result<BlockList, string> {
  const list = new BlockList();
  if (text === undefined) return ok(list);
  for (const item of text.split(",").map((part) => part.trim())) {
    const [address = "", bits, ...rest] = item.split("/");
    const version = isIP(address);
    const widest = version === 4 ? 32 : 128;
    const prefix = bits === undefined ? widest : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
    if (version === 0 || rest.length > 0 || prefix < 0 || prefix > widest) {
      return err(`--trust-proxy takes addresses and CIDR blocks; "${item}" is neither`);
    }
    list.addSubnet(address, prefix, version === 4 ? "ipv4" : "ipv6");
  }
  return ok(list);
}

/** Who makes the requests of a connection whose peer is not a trusted proxy: the peer. */
export function directClient(peer: string): ClientAddress {
  const address = plainAddress(peer);
  return { address, chain: address, throughProxy: false };
}

/**
 * The client's address. What a client says of itself counts for nothing: X-Forwarded-For is read only when the peer is a
 * trusted proxy, and then from the right, up to the first address that is not a trusted proxy. Everything further left
 * was written by that client. Where the list can't be read there, the client is unknown: with the address of the proxy it
 * could use tokens that are bound to the proxy's network. A proxy that sends no list asks for itself.
 *
 * @param peer address of the other end of the connection
 * @param forwardedFor values of the X-Forwarded-For headers, in order
 */
export function clientAddress(peer: string, forwardedFor: readonly string[], trusted: BlockList): ClientAddress {
  const vouched = [plainAddress(peer)];
  const claimed = forwardedFor.flatMap((value) => value.split(",")).map((part) => readAddress(part.trim()));
  while (isTrusted(vouched[0] ?? "", trusted)) {
    const next = claimed.pop();
    if (next === undefined) break;
    vouched.unshift(next);
  }
  return {
    address: vouched[0] ?? "",
    chain: vouched.join(", "),
    throughProxy: isTrusted(vouched.at(-1) ?? "", trusted),
  };
}

/** True when the other end of a connection is a trusted proxy. */
export function isTrustedPeer(peer: string, trusted: BlockList): boolean {
  return isTrusted(plainAddress(peer), trusted);
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
