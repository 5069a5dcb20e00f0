import { readPath, readUrl } from "../wire/request.ts";

/**
 * Returns the path that Hono matches routes with: decoded if it contains encoded characters, so that `%73ys/health` reaches
 * the routes of `sys`. A path that can't be decoded stays as sent, and is refused when the request is read. The console reads
 * its own paths.
 */
export function routingPath(request: Request): string {
  const { pathname } = readUrl(request.url);
  if (!pathname.includes("%") || pathname.startsWith("/ui/")) return pathname;
  const path = readPath(pathname);
  // Encoded characters are never part of a base path.
  return path.ok ? `/v1/${path.value}` : pathname;
}
