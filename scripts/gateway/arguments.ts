import { BlockList, isIP } from "node:net";
import { LIMITS } from "../../gateway/limits.ts";
import type { GatewayOptions, ListenAddress } from "../../gateway/server.ts";
import type { UpstreamAddress } from "../../gateway/upstream.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { type NotRun, readWords } from "../local/command-line.ts";
import { parseListen } from "../local/listen-address.ts";

export const HELP = `Usage: npm run gateway -- --to URL [options]

Accepts the LIST method, which the platform refuses, and passes it on as GET with list=true.
Everything else passes unchanged. Run it beside a client that insists on LIST.

  --to URL            the service: https://HOST[:PORT], http://HOST[:PORT] or unix:/PATH
  --listen HOST:PORT  where to listen (default 127.0.0.1:8200)
  --trust-proxy LIST  addresses or CIDR blocks, separated by commas, of proxies in front whose
                      X-Forwarded-For is believed (default none)
  --max-body BYTES    largest request body (default 1048576)
  --client-share PERCENT
                      what one client address alone may use of the connections, of the requests
                      and of the room for bodies and answers (default 25; 100: no bound of its own)
  --help              this text
  --version           the release

Requests that the gateway answers itself are on record on standard output, one JSON object a line.
Certificates are always checked. For a private authority set NODE_EXTRA_CA_CERTS=/path/to/ca.pem.

Example:
  npm run gateway -- --to https://grove.example
`;

/** What the command line asks for. */
export type GatewayCommand = Omit<GatewayOptions, "log" | "audit">;

/** Reads the command line of the gateway. */
export function parseGatewayArguments(argv: readonly string[]): Result<GatewayCommand, NotRun> {
  const flags = readWords(argv, {
    ...GATEWAY_FLAGS,
    to: { type: "string" },
    "max-body": { type: "string", default: String(LIMITS.maxBodyBytes) },
  });
  if (!flags.ok) return flags;
  const { to, "max-body": maxBody } = flags.value.values;
  if (to === undefined)
    return err("--to is needed: the address of the service, for example --to https://grove.example");
  const upstream = parseUpstream(to);
  if (!upstream.ok) return upstream;
  const shared = parseGatewayFlags(flags.value.values);
  if (!shared.ok) return shared;
  if (!/^[1-9]\d{0,11}$/.test(maxBody)) return err(`--max-body takes a number of bytes, not "${maxBody}"`);
  return ok({ ...shared.value, upstream: upstream.value, maxBodyBytes: Number(maxBody) });
}

function parseUpstream(text: string): Result<UpstreamAddress, string> {
  if (text.startsWith("unix:/")) return ok({ kind: "socket", path: text.slice("unix:".length) });
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return err(`--to takes an address such as https://grove.example, not "${text}"`);
  }
  // A path, a query or a password is refused, not dropped.
  if (url.href !== `${url.origin}/`) return err("--to takes a scheme, a host and a port, and nothing more");
  return ok({ kind: "origin", url });
}

/** Flags of every program that runs the gateway. */
export const GATEWAY_FLAGS = {
  listen: { type: "string", default: "127.0.0.1:8200" },
  "trust-proxy": { type: "string" },
  "client-share": { type: "string", default: String(LIMITS.clientSharePercent) },
} as const;

/** The parsed values of GATEWAY_FLAGS. */
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
 * Proxies whose X-Forwarded-For is trusted, from `--trust-proxy` (`10.0.0.0/8,2001:db8::1`); none without the flag. The error is for
 * the operator.
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
