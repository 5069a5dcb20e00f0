import { CLIENT_ADDRESS_HEADER } from "../../gateway/headers.ts";
import type { ListenAddress } from "../../gateway/server.ts";
import { addressText } from "../local/listen-address.ts";
import { MODULE } from "./built-worker.ts";
import type { Binding, WorkerModel } from "./worker-model.ts";

/** A node's place in a cluster, for workerd. */
export interface WorkerdCluster {
  /** `s3://bucket/directory`: workerd's own directory in the bucket. */
  readonly bucket: string;
  readonly region: string;
  readonly allowsHttp: boolean;
  readonly listen: ListenAddress;
  readonly advertise: ListenAddress | undefined;
  /** Secret, at least 32 bytes. workerd can't read it from its environment. */
  readonly key: string;
  /** Divides the times of a lease, in tests alone. */
  readonly timeDivisor: number;
}

/** Parameters of workerd's configuration. */
export interface WorkerdSetup {
  readonly worker: WorkerModel;
  /** Directory of the objects' databases. */
  readonly objects: string;
  /** Unix domain socket to listen on. */
  readonly socket: string;
  /** Unix domain socket of the cron trigger alone. */
  readonly cronSocket: string;
  /** Unix domain socket of the service that writes the audit archive; absent without an archive. */
  readonly archiveSocket?: string;
  /** A second address, for clients that do not use the gateway. */
  readonly direct?: ListenAddress;
  /**
   * Secret of this installation, part of every class's unique key. workerd derives object ids from that key and refuses
   * ids that do not match, so an id can't be made without it. Losing it loses the data.
   */
  readonly installationId: string;
  /** CIDR blocks of private addresses that the Worker may connect to, besides public addresses. */
  readonly privateHosts: readonly string[];
  /** Certificates in PEM that connections are checked against, besides those of public authorities. */
  readonly trustedCas: readonly string[];
  /** True to let the Worker ask the metadata services of the cloud's machines and containers for its keys. */
  readonly metadataServices: boolean;
  /** Absent for a server that is one process. */
  readonly cluster?: WorkerdCluster;
}

/** Metadata services of instances (the first) and of containers. */
const METADATA_SERVICES = ["169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32"];

/**
 * Headers that only the gateway may set. The port past the gateway removes them, because a client could forge them. So the Worker does
 * not know the client's address there and refuses tokens that are bound to addresses.
 */
const GATEWAY_HEADERS = [CLIENT_ADDRESS_HEADER, "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"];

/** Writes the configuration as Cap'n Proto text; the name of the constant to serve is `config`. */
export function workerdConfig(setup: WorkerdSetup): string {
  const {
    worker,
    objects,
    socket,
    cronSocket,
    archiveSocket,
    direct,
    installationId,
    privateHosts,
    trustedCas,
    metadataServices,
    cluster,
  } = setup;
  const allow = ["public", ...privateHosts, ...(metadataServices ? METADATA_SERVICES : [])];
  const own = trustedCas.length === 0 ? "" : `, trustedCertificates = ${list(trustedCas.map(quote))}`;
  const tls = `(trustBrowserCas = true${own})`;
  const namespaces = worker.classes.map(({ className, origin, sqlite }) => {
    const key = quote(`${origin}-${installationId}`);
    return `(className = ${quote(className)}, uniqueKey = ${key}, enableSql = ${sqlite})`;
  });
  const sockets = [
    `(name = "gateway", address = ${quote(`unix:${socket}`)}, http = (), service = "main")`,
    `(name = "cron", address = ${quote(`unix:${cronSocket}`)}, http = (), service = (name = "main", entrypoint = "CronTrigger"))`,
  ];
  if (direct !== undefined) sockets.push(directSocket(direct));
  const archive =
    archiveSocket === undefined
      ? ""
      : `,\n    (name = "archive", external = (address = ${quote(`unix:${archiveSocket}`)}, http = ()))`;
  const bindings = worker.bindings.map(binding);
  if (archiveSocket !== undefined) bindings.push(`(name = "ARCHIVE_SERVICE", service = "archive")`);
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "objects", disk = (path = ${quote(objects)}, writable = true)),
    (name = "internet", network = (allow = ${list(allow.map(quote))}, tlsOptions = ${tls}))${archive}
  ],
  sockets = ${list(sockets)}${cluster === undefined ? "" : `,\n  cluster = ${clusterStanza(cluster)}`}
);

const worker :Workerd.Worker = (
  modules = [(name = "${MODULE}", esModule = embed "${MODULE}")],
  compatibilityDate = ${quote(worker.compatibilityDate)},
  compatibilityFlags = ${list(worker.compatibilityFlags.map(quote))},
  bindings = ${list(bindings)},
  durableObjectNamespaces = ${list(namespaces)},
  durableObjectStorage = (localDisk = "objects")
);
`;
}

function clusterStanza(cluster: WorkerdCluster): string {
  const { bucket, region, allowsHttp, listen, advertise, key, timeDivisor } = cluster;
  const options = [`aws_region=${region}`, ...(allowsHttp ? ["aws_allow_http=true"] : [])];
  const parts = [
    `bucket = ${quote(bucket)}`,
    `bucketOptions = ${list(options.map(quote))}`,
    `address = ${quote(addressText(listen))}`,
    ...(advertise === undefined ? [] : [`advertise = ${quote(addressText(advertise))}`]),
    `key = ${quote(key)}`,
    ...(timeDivisor === 1 ? [] : [`unsafeTimeDivisor = ${timeDivisor}`]),
  ];
  return `(\n    ${parts.join(",\n    ")}\n  )`;
}

function directSocket(direct: ListenAddress): string {
  const address = quote(addressText(direct));
  // A header without a value is removed.
  const removed = list(GATEWAY_HEADERS.map((name) => `(name = ${quote(name)})`));
  return `(name = "direct", address = ${address}, http = (injectRequestHeaders = ${removed}), service = "main")`;
}

function binding(item: Binding): string {
  const name = `name = ${quote(item.name)}`;
  switch (item.kind) {
    case "objects":
      return `(${name}, durableObjectNamespace = ${quote(item.className)})`;
    case "text":
      return `(${name}, text = ${quote(item.value)})`;
    case "json":
      return `(${name}, json = ${quote(item.value)})`;
    case "environment":
      return `(${name}, fromEnvironment = ${quote(item.name)})`;
    case "self": {
      const entrypoint = item.entrypoint === undefined ? "" : `, entrypoint = ${quote(item.entrypoint)}`;
      return `(${name}, service = (name = "main"${entrypoint}))`;
    }
  }
}

function list(items: readonly string[]): string {
  return items.length === 0 ? "[]" : `[\n    ${items.join(",\n    ")}\n  ]`;
}

/** A Cap'n Proto text literal. */
function quote(text: string): string {
  const escaped = text.replace(/[\\"\p{Cc}]/gu, (character) => {
    if (character === "\\" || character === '"') return `\\${character}`;
    return [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  });
  return `"${escaped}"`;
}
