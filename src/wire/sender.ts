import type { Failure } from "../base/result.ts";

/**
 * What sent a request: a program, a page of this server (the console), or a page of another site. Browsers say so in
 * `Sec-Fetch-Site`, which no page can set, and over plain HTTP in `Origin` alone.
 */
export type Sender = "program" | "own page" | "foreign page";

/** The refusal of a page of another site, where it could use that a browser reaches a server that it does not. */
export const FOREIGN_PAGE: Failure = {
  code: "forbidden",
  message:
    "a web page of another site can't call this endpoint: the request's Origin or Sec-Fetch-Site is not of this server",
};

/** Values of `Sec-Fetch-Site` for the server's own pages, and for what the user opened. */
const OWN_SITES: ReadonlySet<string> = new Set(["same-origin", "none"]);

/**
 * Reads what sent a request. `Sec-Fetch-Site` decides where there is one: the browser knows its answer whatever a proxy
 * makes of the host. Everything that is not surely of this server is foreign.
 *
 * @param baseUrl the URL of this server as the client called it.
 */
export function readSender(headers: Headers, baseUrl: () => string): Sender {
  const site = headers.get("Sec-Fetch-Site");
  if (site !== null) return OWN_SITES.has(site) ? "own page" : "foreign page";
  const origin = headers.get("Origin");
  if (origin === null) return "program";
  return hostOfOrigin(origin) === new URL(baseUrl()).host ? "own page" : "foreign page";
}

/**
 * The host of an origin as browsers write it; null for every other text. The scheme is not compared: a proxy that ends TLS may
 * not be one whose word on it is believed.
 */
function hostOfOrigin(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { origin, host } = new URL(text);
  return origin === text ? host : null;
}

/**
 * True when the name of the host could lead somewhere else a moment ago. By DNS rebinding a page of such a name becomes, for
 * its browser, a page of whatever server the name leads to now. A certificate prevents that, and addresses have no name.
 */
export function canBeRebound(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  const isAddress = hostname.startsWith("[") || /^[\d.]+$/.test(hostname);
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  return protocol !== "https:" && !isAddress && !isLocal;
}
