import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { err, ok, type Result } from "../../../src/base/result.ts";

/** Where a server listens. */
export type Place =
  | { readonly kind: "socket"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly tls: boolean };

/** Reads `http://HOST[:PORT]`, `https://HOST[:PORT]` or `unix:/PATH`; the error is for the operator. */
export function parsePlace(text: string): Result<Place, string> {
  if (text.startsWith("unix:/")) return ok({ kind: "socket", path: text.slice("unix:".length) });
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:") || url.href !== `${url.origin}/`) {
    return err(`an address is http://HOST:PORT, https://HOST:PORT or unix:/PATH, not "${text}"`);
  }
  const tls = url.protocol === "https:";
  const port = url.port === "" ? (tls ? 443 : 80) : Number(url.port);
  return ok({ kind: "tcp", host: url.hostname.replace(/^\[|\]$/g, ""), port, tls });
}

/** Opens a connection to `place`. */
export function connectTo(place: Place): Socket {
  if (place.kind === "socket") return connect({ path: place.path });
  const { host, port } = place;
  // A server that is only measured may have a certificate of its own making; no secret but its own token is sent to it.
  if (place.tls) return connectTls({ host, port, servername: host, rejectUnauthorized: false });
  return connect({ host, port, noDelay: true });
}

/** What the `Host` header says. */
export function hostOf(place: Place): string {
  return place.kind === "socket" ? "localhost" : place.host;
}
