import { groveVersion } from "../base/version.ts";
import type { Env } from "../env.ts";

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "X-Content-Type-Options": "nosniff",
};

/**
 * A short page for a person who opens the address in a browser, who would read only "permission denied" otherwise. Null for
 * every request of a client of the API.
 */
export function welcomePage(request: Request, env: Pick<Env, "GROVE_COMMIT">): Response | null {
  const isBrowser = request.method === "GET" && (request.headers.get("Accept") ?? "").includes("text/html");
  if (!isBrowser || new URL(request.url).pathname !== "/") return null;
  return new Response(pageText(groveVersion(env)), { headers: HEADERS });
}

function pageText(version: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Grove</title>
<h1>Grove ${version}</h1>
<p>This is a token authority. It speaks the HTTP API of Vault and OpenBao below <code>/v1/</code>.</p>
<ul>
<li><a href="/v1/sys/health">Health</a>
<li><a href="/v1/sys/seal-status">Seal status</a>
</ul>
<p>With a client: set <code>VAULT_ADDR</code> to this address and <code>VAULT_TOKEN</code> to your token, then
<code>bao token lookup</code> or <code>vault token lookup</code>.</p>
</html>
`;
}
