import type { ListenAddress } from "../../gateway/server.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { GATEWAY_FLAGS, parseGatewayFlags } from "../gateway/arguments.ts";
import { type CommandOf, readWords } from "../local/command-line.ts";
import { parseListen, parsePrivateHosts } from "../local/listen-address.ts";
import { parseClusterPlace } from "./cluster/node-settings.ts";

export const DEFAULT_DATA = ".grove/data";

export const HELP = `Usage: npm run serve -- [options]

Runs Grove on this machine: the same Worker as on Cloudflare, under workerd, with data on disk.

  --listen HOST:PORT        where to listen (default 127.0.0.1:8200; port 0 for any free one)
  --data DIR                where data are kept (default ${DEFAULT_DATA}); it is made in a directory that is there
  --init FILE               initializes a new installation with what the file declares, before any request is served; changes
                            nothing in one that is initialized (docs/self-hosting.md)
  --trust-proxy LIST        addresses or CIDR blocks, separated by commas, of proxies in front
                            whose X-Forwarded-For is believed (default none)
  --client-share PERCENT    what one client address alone may use of the connections, of the requests
                            and of the room for bodies and answers (default 25; 100: no bound of its own)
  --direct PORT             a second port on the same host that leads to the Worker past the gateway: faster, without
                            LIST, and closed to tokens that are bound to addresses (default none)
  --allow-private-host LIST
                            hosts, separated by commas, that the Worker may call beside public ones, also by http:
                            addresses, CIDR blocks, and names that lead to them or to public ones (default none)
  --trust-ca FILE           certificates in PEM that connections of the Worker are checked against, besides those of
                            public authorities (default none)
  --metrics HOST:PORT       answers GET /metrics about the gateway and the processes, without a token, at an address for
                            Prometheus alone (default none; the service's own are at /v1/sys/metrics)
  --audit-archive DIR       copies what the audit store is about to delete into files, and its signed heads (docs/audit.md;
                            default none; a cluster has its bucket)
  --cluster s3://BUCKET/PREFIX
                            makes this server a node of a cluster, whose data are in the bucket (docs/cluster.md)
  --cluster-listen HOST:PORT
                            where the other nodes reach this one: a private address
  --cluster-advertise HOST:PORT
                            the address that other nodes use, if not that of --cluster-listen
  --help                    this text
  --version                 the release

Secrets and settings come from the environment: GROVE_SEAL_KEY is needed, every variable in wrangler.toml's [vars]
can be set, and every variable that starts with GROVE_ is passed on (docs/self-hosting.md, docs/operations.md). In a
folder of "grove new", "grove serve" also takes those of secrets.env there that the environment does not set.
Audit lines go to standard output, everything else to standard error.

Example:
  npm run serve -- --listen 127.0.0.1:8200 --data /var/lib/grove
`;

/** The options. A test checks that the help lists them. */
export const SERVE_OPTIONS = {
  ...GATEWAY_FLAGS,
  data: { type: "string", default: DEFAULT_DATA },
  init: { type: "string" },
  direct: { type: "string" },
  metrics: { type: "string" },
  "allow-private-host": { type: "string", default: "" },
  "trust-ca": { type: "string", default: "" },
  "audit-archive": { type: "string" },
  cluster: { type: "string" },
  "cluster-listen": { type: "string" },
  "cluster-advertise": { type: "string" },
} as const;

/** What the command line asks for. */
export type ServeCommand = CommandOf<typeof parseServeArguments>;

export function parseServeArguments(argv: readonly string[]) {
  const flags = readWords(argv, SERVE_OPTIONS);
  if (!flags.ok) return flags;
  const { values } = flags.value;
  if (values.data === "") return err("--data takes a directory");
  if (values.init === "") return err("--init takes a file");
  const shared = parseGatewayFlags(values);
  if (!shared.ok) return shared;
  const direct = parseDirect(values.direct, shared.value.listen);
  if (!direct.ok) return direct;
  const metrics = values.metrics === undefined ? ok(undefined) : parseListen(values.metrics, "--metrics");
  if (!metrics.ok) return metrics;
  const privateHosts = parsePrivateHosts(values["allow-private-host"]);
  if (!privateHosts.ok) return privateHosts;
  const cluster = parseClusterPlace(values);
  if (!cluster.ok) return cluster;
  const auditArchive = values["audit-archive"];
  if (auditArchive === "") return err("--audit-archive takes a directory");
  if (auditArchive !== undefined && cluster.value !== undefined)
    return err("--audit-archive is for a server that is one process: a cluster has the archive in its bucket");
  return ok({
    ...shared.value,
    auditArchive,
    data: values.data,
    init: values.init,
    direct: direct.value,
    metrics: metrics.value,
    privateHosts: privateHosts.value,
    trustCa: values["trust-ca"],
    cluster: cluster.value,
  });
}

function parseDirect(text: string | undefined, listen: ListenAddress): Result<ListenAddress | undefined, string> {
  if (text === undefined) return ok(undefined);
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) return err(`--direct takes a port from 1 to 65535, not "${text}"`);
  if (port === listen.port) return err("--direct takes another port than --listen");
  return ok({ host: listen.host, port });
}
