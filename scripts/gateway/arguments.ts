import { LIMITS } from "../../gateway/limits.ts";
import type { GatewayOptions } from "../../gateway/server.ts";
import type { UpstreamAddress } from "../../gateway/upstream.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { type NotRun, readWords } from "../local/command-line.ts";
import { GATEWAY_FLAGS, parseGatewayFlags } from "./shared-flags.ts";

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
  // Compared with what an origin looks like, so that a path, a query or a password is refused and not dropped.
  if (url.href !== `${url.origin}/`) return err("--to takes a scheme, a host and a port, and nothing more");
  return ok({ kind: "origin", url });
}
