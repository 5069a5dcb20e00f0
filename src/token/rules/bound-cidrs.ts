import ipaddr from "ipaddr.js";
import { err, ok, type Result } from "../../base/result.ts";

/** Maximum number of networks that one token or role may be bound to. */
const MAX_CIDRS = 128;

/** Reads a list of networks that tokens are bound to, each as `parseCidr` does. `field`: its name, for the message. */
export function readCidrs(items: readonly string[], field: string): Result<string[], string> {
  if (items.length > MAX_CIDRS) return err(`${field}: more than ${MAX_CIDRS} networks`);
  const networks: string[] = [];
  for (const [index, item] of items.entries()) {
    const parsed = parseCidr(item);
    if (!parsed.ok) return err(`${field}: item ${index + 1} ${parsed.error}`);
    networks.push(parsed.value);
  }
  return ok(networks);
}

/**
 * Reads one entry of a list of bound networks: a CIDR block, or a single address. Host bits are kept as written.
 * Returns the text that is stored and shown (a network of one address without its mask), or a message.
 */
export function parseCidr(text: string): Result<string, string> {
  const trimmed = text.trim();
  if (trimmed.includes("/")) {
    if (!isAddress(trimmed.slice(0, trimmed.indexOf("/"))) || !ipaddr.isValidCIDR(trimmed)) {
      return err("is not an address or a CIDR block");
    }
    const [address, bits] = ipaddr.parseCIDR(trimmed);
    const whole = address.kind() === "ipv4" ? 32 : 128;
    return ok(bits === whole ? address.toString() : `${address.toString()}/${bits}`);
  }
  if (!isAddress(trimmed)) return err("is not an address or a CIDR block");
  return ok(ipaddr.parse(trimmed).toString());
}

/** True when a token bound to `cidrs` may be used from this address. With a list, an unknown one may not. */
export function addressAllowed(cidrs: readonly string[], clientAddress: string | null): boolean {
  if (cidrs.length === 0) return true;
  if (clientAddress === null || !isAddress(clientAddress)) return false;
  // An IPv4 client can arrive as ::ffff:a.b.c.d; both spellings are one address.
  const client = ipaddr.process(clientAddress);
  return cidrs.some((cidr) => {
    const [network, bits] = networkOf(cidr);
    return network.kind() === client.kind() && client.match(network, bits);
  });
}

/** True when each of these networks is within a network of `outer`; an empty `outer` allows all. See `parseCidr`. */
export function networksWithin(inner: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true;
  const allowed = outer.map(networkOf);
  return inner
    .map(networkOf)
    .every(([network, bits]) =>
      allowed.some(
        ([around, fewer]) => around.kind() === network.kind() && fewer <= bits && network.match(around, fewer),
      ),
    );
}

/** Returns the networks that two lists have in common: of each overlapping pair, the one within the other. */
export function networksInBoth(one: readonly string[], other: readonly string[]): string[] {
  const shared = one.flatMap((cidr) =>
    networksWithin([cidr], other) ? [cidr] : other.filter((narrower) => networksWithin([narrower], [cidr])),
  );
  return [...new Set(shared)];
}

function networkOf(cidr: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  return cidr.includes("/") ? ipaddr.parseCIDR(cidr) : single(cidr);
}

function single(cidr: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const address = ipaddr.parse(cidr);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

/** Only the usual notations: `ipaddr.js` also reads octal and shortened IPv4, which other filters read differently. */
function isAddress(text: string): boolean {
  return text.length <= 64 && (ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text));
}
