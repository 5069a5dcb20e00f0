import { err, ok, type Result } from "../../../base/result.ts";
import { findRegion, type Partition, regionOfStsHost } from "../regions.ts";

/** The part of the client configuration that decides which signed requests are accepted and where they go. */
export type StsSettings = {
  /** URL that replaces the cloud's own STS hosts; "" when not configured. */
  readonly stsEndpoint: string;
  /** Region that `stsEndpoint` takes signatures for; "" when not configured. */
  readonly stsRegion: string;
  /**
   * True: the request is sent to the STS host of the region that the client signed for, whatever `stsEndpoint` and
   * `stsRegion` say.
   */
  readonly useStsRegionFromClient: boolean;
  /** Value that a server ID header must have; "" asks for none. */
  readonly iamServerIdHeaderValue: string;
  /** Names of headers that are accepted besides the usual ones. */
  readonly allowedStsHeaderValues: readonly string[];
};

/** What applies while nothing is configured. */
export const DEFAULT_STS_SETTINGS: StsSettings = {
  stsEndpoint: "",
  stsRegion: "",
  useStsRegionFromClient: false,
  iamServerIdHeaderValue: "",
  allowedStsHeaderValues: [],
};

/** Scheme and host, with a port when there is one: `https://sts.amazonaws.com`. */
export type Origin = { readonly scheme: "http" | "https"; readonly authority: string };

/** An origin and what stands before the path of every call: "" or `/ec2`. */
type Endpoint = Origin & { readonly path: string };

const ORIGIN = /^(https?):\/\/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[1-9]\d{0,4})?)$/;
/** Segments that no parser and no server reads as anything but themselves; none is `.` or `..`. */
const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]{1,64}){0,8}$/;

/** Reads scheme and host of a URL that has nothing else: user-info, path, query and fragment are refused. */
export function parseOrigin(text: string): Origin | null {
  const [, scheme, authority] = ORIGIN.exec(text) ?? [];
  if (authority === undefined) return null;
  return { scheme: scheme === "http" ? "http" : "https", authority };
}

/** Reads the URL of a service endpoint that an operator configures: an origin, and a path where several share one. */
export function parseEndpoint(text: string): Endpoint | null {
  const [, start = "", path = ""] = /^([a-z]+:\/\/[^/?#]*)(.*?)\/?$/s.exec(text) ?? [];
  const origin = parseOrigin(start);
  return origin && PATH.test(path) ? { ...origin, path } : null;
}

/** Where a signed request goes, and the partition that may answer. */
type StsTarget = { readonly endpoint: Endpoint; readonly partition: Partition };

/**
 * Chooses where a signed request is sent. Only a host known from data or configured by an operator is ever called. The
 * client's own choice matters in so far as the signature covers it: `signed` is the origin of its URL, `region` the one
 * of its signature, and a pair that STS could not accept is refused here.
 */
export function chooseTarget(signed: Origin, region: string, settings: StsSettings): Result<StsTarget, string> {
  const known = findRegion(region);
  if (known === null) return err("unable to get regional STS endpoint for the region of the signature");
  const { partition } = known;
  const hostRegion = signed.scheme === "https" ? regionOfStsHost(signed.authority) : null;
  if (hostRegion !== null && hostRegion !== region) {
    return err("the region of the signature is not the region of the STS host in iam_request_url");
  }

  if (settings.stsEndpoint === "" || settings.useStsRegionFromClient) {
    return hostRegion !== null
      ? ok({ endpoint: { ...signed, path: "" }, partition })
      : err("iam_request_url is not the URL of a known STS host");
  }
  const endpoint = parseEndpoint(settings.stsEndpoint);
  if (endpoint === null) return err("the configured sts_endpoint can't be read");
  if (settings.stsRegion !== "" && settings.stsRegion !== region) {
    return err("the region of the signature is not the configured sts_region");
  }
  const isEndpoint = signed.scheme === endpoint.scheme && signed.authority === endpoint.authority;
  // A proxy of the operator may stand before STS and restore the signed host; STS itself would refuse another host.
  const isProxied = hostRegion !== null && regionOfStsHost(endpoint.authority) === null;
  if (!isEndpoint && !isProxied) return err("iam_request_url is not the URL of the configured sts_endpoint");
  return ok({ endpoint, partition });
}
