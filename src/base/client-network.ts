import ipaddr from "ipaddr.js";

const WORD_BITS = 16;

/** The networks of a client, the narrowest first. */
export type Networks = readonly [string, ...string[]];

/**
 * The networks under which limits per client count an address: the IPv4 address alone, or the /64, /56 and /48 network of an
 * IPv6 one, as one client can have all addresses of such a network. See `allowanceOf`.
 */
export function clientNetworks(address: string): Networks {
  const plain = plainAddress(address);
  if (!ipaddr.IPv6.isValid(plain)) return [plain];
  const { parts } = ipaddr.IPv6.parse(plain);
  const network = (bits: number): string => {
    const words = parts.map((word, index) => (word & maskOf(bits - index * WORD_BITS)).toString(16));
    return `${words.join(":")}/${bits}`;
  };
  return [network(64), network(56), network(48)];
}

/**
 * How many times the limit of one client a network may use: 1 for an address or a /64, 2 for a /56, 4 for a /48. So a site
 * can have several clients, and an attacker with a /48 has no more than four times the limit.
 *
 * @param width index of the network in `clientNetworks`
 */
export function allowanceOf(width: number): number {
  return 2 ** width;
}

/**
 * The one spelling of an address: RFC 5952's of an IPv6 one, and the IPv4 address of an IPv4-mapped one. Any other text is
 * returned unchanged.
 */
export function plainAddress(address: string): string {
  if (!address.includes(":") || !ipaddr.IPv6.isValid(address)) return address;
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toRFC5952String();
}

/** A mask of the first `bits` bits of a word; all of them from 16 on, none below 1. */
function maskOf(bits: number): number {
  return 0xffff & ~(0xffff >> Math.min(Math.max(bits, 0), WORD_BITS));
}
