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
