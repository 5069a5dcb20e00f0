import type { Failure } from "../base/result.ts";

/**
 * The kind of client: a program, a page of this server (the console), or a page of another site. Browsers send it in
 * `Sec-Fetch-Site`, which no page can set, and over plain HTTP only in `Origin`.
 */
export type Sender = "program" | "own page" | "foreign page";

/** The refusal of a page of another site. A browser may reach servers that the site itself can't reach. */
export const FOREIGN_PAGE: Failure = {
  code: "forbidden",
  message:
    "a web page of another site can't call this endpoint: the request's Origin or Sec-Fetch-Site is not of this server",
};

/** Values of `Sec-Fetch-Site` for pages of the server, and for a URL that the user opened. */
const OWN_SITES: ReadonlySet<string> = new Set(["same-origin", "none"]);

/**
 * Returns the kind of client. `Sec-Fetch-Site` takes precedence: it is correct even if a proxy changes the host. In
 * case of doubt a page is foreign. `baseUrl` returns the URL of this server as the client called it.
 */
export function readSender(headers: Headers, baseUrl: () => string): Sender {
  const site = headers.get("Sec-Fetch-Site");
  if (site !== null) return OWN_SITES.has(site) ? "own page" : "foreign page";
  const origin = headers.get("Origin");
  if (origin === null) return "program";
  return hostOfOrigin(origin) === new URL(baseUrl()).host ? "own page" : "foreign page";
}

/** Reads an origin in the form of browsers. The scheme is not compared: Grove may not trust the proxy that ends TLS. */
function hostOfOrigin(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { origin, host } = new URL(text);
  return origin === text ? host : null;
}

/**
 * True for a host name that an attacker can rebind in DNS to this server. The browser then treats a page of the
 * attacker as a page of this server. TLS prevents that, and an address can't be rebound.
 */
export function canBeRebound(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  const isAddress = hostname.startsWith("[") || /^[\d.]+$/.test(hostname);
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  return protocol !== "https:" && !isAddress && !isLocal;
}
