/** 16-bit words in the /64 network of an IPv6 address. A client that has one address of a /64 has all of them. */
const NETWORK_WORDS = 4;
const MAPPED_IPV4 = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** The key under which limits per client count an address: the IPv4 address, or the /64 network of an IPv6 one. */
export function clientNetwork(address: string): string {
  const plain = address.replace(MAPPED_IPV4, "");
  if (!plain.includes(":")) return plain;
  const [left = "", right] = plain.split("::", 2);
  const head = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? 0 : 8 - head.length - tail.length;
  const words = [...head, ...Array<string>(Math.max(zeros, 0)).fill("0"), ...tail];
  return words
    .slice(0, NETWORK_WORDS)
    .map((word) => Number.parseInt(word, 16).toString(16))
    .join(":");
}
