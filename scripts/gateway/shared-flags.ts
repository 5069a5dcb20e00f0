import type { BlockList } from "node:net";
import { LIMITS } from "../../gateway/limits.ts";
import type { ListenAddress } from "../../gateway/server.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { parseListen } from "../local/listen.ts";
import { parseTrustedProxies } from "./trusted-proxies.ts";

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
