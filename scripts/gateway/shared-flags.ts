import { BlockList, isIP } from "node:net";
import { LIMITS } from "../../gateway/limits.ts";
import type { ListenAddress } from "../../gateway/server.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { parseListen } from "../local/listen.ts";

/** The flags of every program that has the gateway in it. */
export const GATEWAY_FLAGS = {
  listen: { type: "string", default: "127.0.0.1:8200" },
  "trust-proxy": { type: "string" },
  "client-share": { type: "string", default: String(LIMITS.clientSharePercent) },
} as const;

/** The values of these flags, read. */
export interface GatewayFlags {
  readonly listen: ListenAddress;
  readonly trustedProxies: BlockList;
  readonly clientSharePercent: number;
}

/** Reads the values of GATEWAY_FLAGS; the error is a message for the operator. */
export function parseGatewayFlags(values: {
  readonly listen: string;
  readonly "trust-proxy"?: string | undefined;
  readonly "client-share": string;
}): Result<GatewayFlags, string> {
  const listen = parseListen(values.listen);
  if (!listen.ok) return listen;
  const trustedProxies = parseTrustedProxies(values["trust-proxy"]);
  if (!trustedProxies.ok) return trustedProxies;
  const share = values["client-share"];
  const percent = /^\d{1,3}$/.test(share) ? Number(share) : 0;
  if (percent < 1 || percent > 100) {
    return err(`--client-share takes a number of percent from 1 to 100, not "${share}"`);
  }
  return ok({ listen: listen.value, trustedProxies: trustedProxies.value, clientSharePercent: percent });
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
