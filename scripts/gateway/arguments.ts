import { CLIENT_SHARE_PERCENT } from "../../gateway/limits.ts";
import type { GatewayOptions } from "../../gateway/server.ts";
import type { UpstreamAddress } from "../../gateway/upstream-connection.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { readFlags } from "../local/flags.ts";
import { parseListen } from "../local/listen.ts";
import { parseTrustedProxies } from "./trusted-proxies.ts";

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

Requests that the gateway answers itself are on record on standard output, one JSON object a line.
Certificates are always checked. For a private authority set NODE_EXTRA_CA_CERTS=/path/to/ca.pem.
`;

/** What the command line asks for. */
export type GatewayCommand =
  | { readonly kind: "help" }
  | ({ readonly kind: "run" } & Omit<GatewayOptions, "log" | "audit">);

/** Reads the command line of the gateway; the error is a message for the operator. */
export function parseGatewayArguments(argv: readonly string[]): Result<GatewayCommand, string> {
  const flags = readFlags(argv, {
    to: { type: "string" },
    listen: { type: "string" },
    "trust-proxy": { type: "string" },
    "max-body": { type: "string" },
    "client-share": { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (!flags.ok) return flags;
  const { help, to, listen, "trust-proxy": trustProxy, "max-body": maxBody, "client-share": share } = flags.value;
  if (help) return ok({ kind: "help" });

  if (to === undefined)
    return err("--to is needed: the address of the service, for example --to https://grove.example");
  const upstream = parseUpstream(to);
  if (!upstream.ok) return upstream;
  const address = parseListen(listen ?? "127.0.0.1:8200");
  if (!address.ok) return address;
  const trustedProxies = parseTrustedProxies(trustProxy);
  if (!trustedProxies.ok) return trustedProxies;
  const maxBodyBytes = maxBody === undefined ? undefined : parseBytes(maxBody);
  if (maxBodyBytes?.ok === false) return maxBodyBytes;
  const clientSharePercent = parseClientShare(share);
  if (!clientSharePercent.ok) return clientSharePercent;

  return ok({
    kind: "run",
    listen: address.value,
    upstream: upstream.value,
    trustedProxies: trustedProxies.value,
    clientSharePercent: clientSharePercent.value,
    ...(maxBodyBytes === undefined ? {} : { maxBodyBytes: maxBodyBytes.value }),
  });
}

/** Reads the value of `--client-share`, a number of percent. */
export function parseClientShare(text: string = String(CLIENT_SHARE_PERCENT)): Result<number, string> {
  const percent = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (percent >= 1 && percent <= 100) return ok(percent);
  return err(`--client-share takes a number of percent from 1 to 100, not "${text}"`);
}

function parseUpstream(text: string): Result<UpstreamAddress, string> {
  if (text.startsWith("unix:/")) return ok({ kind: "socket", path: text.slice("unix:".length) });
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return err(`--to takes an address such as https://grove.example, not "${text}"`);
  }
  // Compared with what an origin looks like, so that a path, a query or a password is refused and not dropped.
  if (url.href !== `${url.origin}/`) return err("--to takes a scheme, a host and a port, and nothing more");
  return ok({ kind: "origin", url });
}

function parseBytes(text: string): Result<number, string> {
  return /^[1-9]\d{0,11}$/.test(text) ? ok(Number(text)) : err(`--max-body takes a number of bytes, not "${text}"`);
}
