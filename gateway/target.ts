/**
 * The target that asks for a listing with GET: `list=true` joins the query, in place of any `list` that the client sent.
 * The rest of the target stays byte for byte.
 *
 * @param target path with an optional query, as in `/v1/auth/token/accessors?after=x`
 */
export function listTarget(target: string): string {
  const mark = target.indexOf("?");
  if (mark === -1) return `${target}?list=true`;
  const parameters = target.slice(mark + 1).split("&");
  // Names are compared as the service decodes them: `%6cist=false` is a `list` too.
  const kept = parameters.filter((parameter) => parameter !== "" && !new URLSearchParams(parameter).has("list"));
  return `${target.slice(0, mark)}?${[...kept, "list=true"].join("&")}`;
}

/**
 * True for the paths that the platform keeps to itself. On the network they never reach a Worker; the local runtimes
 * have controls there that must not be open to clients of the gateway.
 */
export function isPlatformPath(target: string): boolean {
  // Parsed as the runtime does, so that `/./cdn-cgi/` is seen too; escapes other than of dots stay escaped there.
  return (
    target.includes("cdn-cgi") && URL.parse(`http://localhost${target}`)?.pathname.startsWith("/cdn-cgi/") !== false
  );
}
