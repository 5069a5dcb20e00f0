import { BlockList, isIP } from "node:net";
import { err, ok, type Result } from "../../src/base/result.ts";

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
