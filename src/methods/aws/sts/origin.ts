import { err, ok } from "../../../base/result.ts";
import { findRegion, regionOfStsHost } from "../regions.ts";

/** The settings of the client configuration that decide which signed requests are accepted, and where they are sent. */
export type StsSettings = {
  /** URL in place of the cloud's own STS hosts; "" for none. */
  readonly stsEndpoint: string;
  /** Region of signatures for `stsEndpoint`; "" for any. */
  readonly stsRegion: string;
  /** True: requests go to the STS host in the region of their signature, and the two settings above are ignored. */
  readonly useStsRegionFromClient: boolean;
  /** Required value of the server ID header; "" when the header is not required. */
  readonly iamServerIdHeaderValue: string;
  readonly allowedStsHeaderValues: readonly string[];
};

export const DEFAULT_STS_SETTINGS: StsSettings = {
  stsEndpoint: "",
  stsRegion: "",
  useStsRegionFromClient: false,
  iamServerIdHeaderValue: "",
  allowedStsHeaderValues: [],
};

/** Scheme and host, possibly with a port: `https://sts.amazonaws.com`. */
export type StsOrigin = { readonly scheme: "http" | "https"; readonly authority: string };

/** An origin with the prefix of all paths: "" or `/ec2`. */
type Endpoint = StsOrigin & { readonly path: string };

const ORIGIN = /^(https?):\/\/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[1-9]\d{0,4})?)$/;
/** Segments that all parsers and servers read alike; none is `.` or `..`. */
const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]{1,64}){0,8}$/;

/** Reads a URL that consists of scheme and host only. Anything more is refused. */
export function parseOrigin(text: string): StsOrigin | null {
  const [, scheme, authority] = ORIGIN.exec(text) ?? [];
  if (authority === undefined) return null;
  return { scheme: scheme === "http" ? "http" : "https", authority };
}

/** Reads the URL of a configured service endpoint: an origin, possibly with a path. */
export function parseEndpoint(text: string): Endpoint | null {
  const [, start = "", path = ""] = /^([a-z]+:\/\/[^/?#]*)(.*?)\/?$/s.exec(text) ?? [];
  const origin = parseOrigin(start);
  return origin && PATH.test(path) ? { ...origin, path } : null;
}

/**
 * Chooses where a signed request is sent: only to a host that is known from data or configured by an operator. Also
 * returns the partition of the answer. `signed` is the origin of the client's URL, which must fit to the region of the
 * signature, since STS would refuse any other pair.
 */
export function chooseTarget(signed: StsOrigin, region: string, settings: StsSettings) {
  const known = findRegion(region);
  if (known === null) return err("unable to get regional STS endpoint for the region of the signature");
  const { partition } = known;
  const hostRegion = signed.scheme === "https" ? regionOfStsHost(signed.authority) : null;
  if (hostRegion !== null && hostRegion !== region) {
    return err("the region of the signature is not the region of the STS host in iam_request_url");
  }

  if (settings.stsEndpoint === "" || settings.useStsRegionFromClient) {
    if (hostRegion === null) return err("iam_request_url is not the URL of a known STS host");
    return ok({ endpoint: { ...signed, path: "" }, partition });
  }
  const endpoint = parseEndpoint(settings.stsEndpoint);
  if (endpoint === null) return err("the configured sts_endpoint can't be read");
  if (settings.stsRegion !== "" && settings.stsRegion !== region) {
    return err("the region of the signature is not the configured sts_region");
  }
  const isEndpoint = signed.scheme === endpoint.scheme && signed.authority === endpoint.authority;
  // An endpoint that is no host of STS may be a proxy that sends the signed host on: then any host of STS may be signed.
  const isProxied = hostRegion !== null && regionOfStsHost(endpoint.authority) === null;
  if (!isEndpoint && !isProxied) return err("iam_request_url is not the URL of the configured sts_endpoint");
  return ok({ endpoint, partition });
}
