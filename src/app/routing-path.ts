import { readPath, readUrl } from "../wire/request.ts";

/**
 * The path that Hono matches routes with: decoded where the request holds encoded characters, so that `%73ys/health` gets to
 * the place of `sys/health`. A path that can't be decoded stays as it was sent; it is refused when the request is read. The
 * console reads its own paths.
 */
export function routingPath(request: Request): string {
  const { pathname } = readUrl(request.url);
  if (!pathname.includes("%") || pathname.startsWith("/ui/")) return pathname;
  const path = readPath(pathname);
  // Not below the base path that was sent: what is encoded in it is no part of a base path.
  return path.ok ? `/v1/${path.value}` : pathname;
}
