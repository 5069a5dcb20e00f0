import ipaddr from "ipaddr.js";
import type { ListenAddress } from "../../../gateway/server.ts";
import { err, ok, type Result } from "../../../src/base/result.ts";
import { parseListen } from "../../local/listen-address.ts";

/** A node's place in a cluster, from its command line. */
export interface ClusterPlace {
  readonly bucket: string;
  /** The cluster's directory in the bucket, without a slash at either end. */
  readonly prefix: string;
  /** Where other nodes reach this node. */
  readonly listen: ListenAddress;
  /** The address that is announced to the other nodes; undefined: that of `listen`. */
  readonly advertise: ListenAddress | undefined;
}

/** A node's place, and what the environment adds. */
export interface ClusterSettings extends ClusterPlace {
  /** Secret by which nodes recognize each other. */
  readonly key: string;
  /** The previous secret, during a rotation. */
  readonly previousKey: string | undefined;
  readonly endpoint: URL;
  readonly region: string;
  /** True to reach the bucket without TLS. */
  readonly allowsHttp: boolean;
  /** Divides the times of a lease and of a stop. Always 1 except in tests. */
  readonly timeDivisor: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/([\w.-]+(?:\/[\w.-]+)*)\/?$/;
const MAX_PREFIX_LENGTH = 200;
const MIN_KEY_BYTES = 32;
const MAX_KEY_BYTES = 1024;
const MAX_TIME_DIVISOR = 1000;

/** Addresses of all interfaces. */
const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
/**
 * Ranges without public addresses. Only these are allowed, as traffic between nodes is authenticated but not encrypted.
 */
const PRIVATE_RANGES: ReadonlySet<string> = new Set([
  ...["private", "loopback", "linkLocal", "uniqueLocal", "carrierGradeNat"],
]);

/** Environment variables for workerd's access to the bucket. The Worker does not get them. */
export const CLUSTER_VARIABLES: readonly string[] = [
  ...["GROVE_CLUSTER_KEY", "GROVE_CLUSTER_KEY_PREVIOUS", "GROVE_CLUSTER_UNSAFE_TIME_DIVISOR"],
  ...["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"],
];

/** Reads the flags of a node. Undefined without `--cluster`; the error is for the operator. */
export function parseClusterPlace(flags: {
  readonly cluster?: string | undefined;
  readonly "cluster-listen"?: string | undefined;
  readonly "cluster-advertise"?: string | undefined;
}): Result<ClusterPlace | undefined, string> {
  const { cluster, "cluster-listen": listenText, "cluster-advertise": advertiseText } = flags;
  if (cluster === undefined) {
    const stray = listenText !== undefined || advertiseText !== undefined;
    return stray ? err("--cluster-listen and --cluster-advertise need --cluster s3://BUCKET/PREFIX") : ok(undefined);
  }
  const [, bucket = "", prefix = ""] = BUCKET.exec(cluster) ?? [];
  const isPath = prefix.split("/").every((name) => name !== "." && name !== "..");
  if (bucket === "" || !isPath || prefix.length > MAX_PREFIX_LENGTH) {
    return err(`--cluster takes s3://BUCKET/PREFIX, not "${cluster}"`);
  }
  if (listenText === undefined)
    return err("--cluster needs --cluster-listen HOST:PORT, where the other nodes reach this one");
  const listen = readAddress(listenText, "--cluster-listen");
  if (!listen.ok) return listen;
  const isWildcard = WILDCARDS.has(listen.value.host);
  if (advertiseText === undefined) {
    return isWildcard
      ? err(`--cluster-listen ${listenText} needs --cluster-advertise HOST:PORT: the address that other nodes use`)
      : ok({ bucket, prefix, listen: listen.value, advertise: undefined });
  }
  const advertise = readAddress(advertiseText, "--cluster-advertise");
  if (!advertise.ok) return advertise;
  if (WILDCARDS.has(advertise.value.host))
    return err("--cluster-advertise takes an address that other nodes can reach");
  return ok({ bucket, prefix, listen: listen.value, advertise: advertise.value });
}

function readAddress(text: string, flag: string): Result<ListenAddress, string> {
  const address = parseListen(text, flag);
  if (!address.ok) return address;
  const { host, port } = address.value;
  if (port === 0) return err(`${flag} takes a port from 1 to 65535`);
  if (!WILDCARDS.has(host) && isPublicAddress(host)) {
    return err(`${flag} takes a private address: traffic between nodes is not encrypted`);
  }
  return address;
}

function isPublicAddress(host: string): boolean {
  return ipaddr.isValid(host) && !PRIVATE_RANGES.has(ipaddr.process(host).range());
}

/** Adds the environment to a node's place. The error is for the operator and has no secret. */
export function readClusterSettings(place: ClusterPlace, environment: Environment): Result<ClusterSettings, string> {
  const key = readKey(environment, "GROVE_CLUSTER_KEY");
  if (!key.ok) return key;
  if (key.value === undefined) {
    return err("GROVE_CLUSTER_KEY is not set: a secret of all nodes, as openssl rand -hex 32 prints");
  }
  const previousKey = readKey(environment, "GROVE_CLUSTER_KEY_PREVIOUS");
  if (!previousKey.ok) return previousKey;
  const timeDivisor = Number(environment.GROVE_CLUSTER_UNSAFE_TIME_DIVISOR || 1);
  if (!(Number.isInteger(timeDivisor) && timeDivisor >= 1 && timeDivisor <= MAX_TIME_DIVISOR)) {
    return err(`GROVE_CLUSTER_UNSAFE_TIME_DIVISOR, for tests alone, takes 1 to ${MAX_TIME_DIVISOR}`);
  }
  const file = environment.AWS_CREDENTIALS_FILE;
  const hasKeys = Boolean(environment.AWS_ACCESS_KEY_ID && environment.AWS_SECRET_ACCESS_KEY);
  if (!file && !hasKeys) {
    return err("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_CREDENTIALS_FILE, have to be set for the bucket");
  }
  const region = environment.AWS_REGION || "us-east-1";
  const endpointText = environment.AWS_ENDPOINT_URL || `https://s3.${region}.amazonaws.com`;
  const endpoint = URL.parse(endpointText);
  if (endpoint === null || endpoint.username !== "" || endpoint.pathname !== "/" || endpoint.search !== "") {
    return err("AWS_ENDPOINT_URL has to be an origin such as https://s3.example.com");
  }
  const allowsHttp = endpoint.protocol === "http:";
  if (!allowsHttp && endpoint.protocol !== "https:") return err("AWS_ENDPOINT_URL has to begin with https://");
  if (allowsHttp && environment.AWS_ALLOW_HTTP !== "true") {
    return err("AWS_ENDPOINT_URL is without TLS, which needs AWS_ALLOW_HTTP=true and a private host");
  }
  if (allowsHttp && !isPrivateHost(endpoint.hostname)) {
    return err(`AWS_ENDPOINT_URL is without TLS, and ${endpoint.hostname} is not a private host`);
  }
  return ok({ ...place, key: key.value, previousKey: previousKey.value, endpoint, region, allowsHttp, timeDivisor });
}

function readKey(environment: Environment, name: string): Result<string | undefined, string> {
  const key = environment[name];
  if (key === undefined || key === "") return ok(undefined);
  const bytes = Buffer.byteLength(key);
  const fits = bytes >= MIN_KEY_BYTES && bytes <= MAX_KEY_BYTES;
  return fits ? ok(key) : err(`${name} has to have ${MIN_KEY_BYTES} to ${MAX_KEY_BYTES} bytes`);
}

/**
 * True for a private address, and for a host name without a dot or in a private domain: public DNS does not resolve it.
 */
function isPrivateHost(host: string): boolean {
  const text = host.replace(/^\[|\]$/g, "");
  if (ipaddr.isValid(text)) return !isPublicAddress(text) && !WILDCARDS.has(text);
  return !text.includes(".") || /\.(?:internal|local|lan|home\.arpa|svc|cluster\.local)$/.test(text);
}

/** The address at which a node reaches its own cluster port. */
export function ownAddress({ host, port }: ListenAddress): ListenAddress {
  if (host === "0.0.0.0") return { host: "127.0.0.1", port };
  return host === "::" ? { host: "::1", port } : { host, port };
}
