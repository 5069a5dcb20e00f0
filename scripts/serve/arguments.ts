import type { BlockList } from "node:net";
import { parseClientShare, parseListen } from "../../gateway/arguments.ts";
import { parseTrustedProxies } from "../../gateway/client-address.ts";
import { readFlags } from "../../gateway/flags.ts";
import type { ListenAddress } from "../../gateway/server.ts";
import { err, ok, type Result } from "../../src/base/result.ts";

export const HELP = `Usage: npm run serve -- [options]

Runs Grove on this machine: the same Worker as on Cloudflare, under workerd, with data on disk.

  --listen HOST:PORT        where to listen (default 127.0.0.1:8200; port 0 for any free one)
  --data DIR                where data are kept (default .grove/data)
  --trust-proxy LIST        addresses or CIDR blocks, separated by commas, of proxies in front
                            whose X-Forwarded-For is believed (default none)
  --client-share PERCENT    what one client address may use of the connections, of the room for bodies
                            and of the requests under way (default 25; 100: no bound of its own)
  --allow-private-network   let the Worker call private addresses too, such as a cloud API
                            inside your own network (default public addresses only)
  --help                    this text

Secrets and settings come from the environment: GROVE_SEAL_KEY is needed, every variable in wrangler.toml's [vars]
can be set, and every variable that starts with GROVE_ is passed on (docs/self-hosting.md, docs/operations.md).
Audit lines go to standard output, everything else to standard error.
`;

/** What the command line asks for. */
export type ServeCommand =
  | { readonly kind: "help" }
  | {
      readonly kind: "run";
      readonly listen: ListenAddress;
      readonly data: string;
      readonly trustedProxies: BlockList;
      readonly clientSharePercent: number;
      readonly privateNetwork: boolean;
    };

/** Reads the command line; the error is a text for the operator. */
export function parseServeArguments(argv: readonly string[]): Result<ServeCommand, string> {
  const flags = readFlags(argv, {
    listen: { type: "string", default: "127.0.0.1:8200" },
    data: { type: "string", default: ".grove/data" },
    "trust-proxy": { type: "string" },
    "client-share": { type: "string" },
    "allow-private-network": { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  });
  if (!flags.ok) return flags;
  const { listen, data, help } = flags.value;
  if (help) return ok({ kind: "help" });
  if (data === "") return err("--data takes a directory");
  const address = parseListen(listen);
  if (!address.ok) return address;
  const trustedProxies = parseTrustedProxies(flags.value["trust-proxy"]);
  if (!trustedProxies.ok) return trustedProxies;
  const clientSharePercent = parseClientShare(flags.value["client-share"]);
  if (!clientSharePercent.ok) return clientSharePercent;
  return ok({
    kind: "run",
    listen: address.value,
    data,
    trustedProxies: trustedProxies.value,
    clientSharePercent: clientSharePercent.value,
    privateNetwork: flags.value["allow-private-network"],
  });
}
