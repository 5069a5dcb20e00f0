import { Hono } from "hono";
import { CONSOLE_FILES } from "../../dist/console/files.ts";
import { fromBase64 } from "../crypto/bytes.ts";
import type { AppEnv } from "./context.ts";

const BASE = "/ui/";

/** No inline code, no other origins, no frames: a page with a token runs only the code of its build. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** The answer to `GET /` of a client that is no browser. */
const GREETING = `This is Grove, a token authority that speaks the HTTP API of Vault and OpenBao.

  Is it ready?   GET /v1/sys/health
  Clients        VAULT_ADDR is this address, without a path
  Console        /ui/, in a browser
  The API        GET /v1/sys/internal/specs/openapi
`;

/**
 * The console and its files, below `/ui/`. `/` redirects a browser to the console, and answers a text to other clients.
 */
export const consolePages = new Hono<AppEnv>()
  .get("/", (c) => ((c.req.raw.headers.get("Accept") ?? "").includes("text/html") ? toConsole() : greeting(c.req.raw)))
  .get("/ui", () => toConsole())
  .get("/ui/*", (c) => {
    const name = c.req.path.slice(BASE.length);
    const isFile = name.startsWith("assets/") || Object.hasOwn(CONSOLE_FILES, name);
    // Any other path is a page of the console, which reads the path in the browser.
    return file(c.req.raw, isFile ? name : "index.html");
  });

function toConsole(): Response {
  return new Response(null, { status: 302, headers: { ...HEADERS, Location: BASE, "Cache-Control": "no-store" } });
}

function greeting({ method }: Request): Response {
  const headers = { ...HEADERS, "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" };
  return new Response(method === "HEAD" ? null : GREETING, { headers });
}

function file(request: Request, name: string): Response {
  const found = CONSOLE_FILES[name];
  if (!found) return new Response(null, { status: 404, headers: HEADERS });
  const headers = new Headers({ ...HEADERS, "Content-Type": found.type, Vary: "Accept-Encoding" });
  // The name of an asset contains a hash of its content. The page has a fixed name.
  headers.set("Cache-Control", name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache");
  const gzip = fromBase64(found.gzip) ?? new Uint8Array();
  const isHead = request.method === "HEAD";
  if ((request.headers.get("Accept-Encoding") ?? "").includes("gzip")) {
    headers.set("Content-Encoding", "gzip");
    return new Response(isHead ? null : gzip, { headers, encodeBody: "manual" });
  }
  return new Response(isHead ? null : new Blob([gzip]).stream().pipeThrough(new DecompressionStream("gzip")), {
    headers,
  });
}
