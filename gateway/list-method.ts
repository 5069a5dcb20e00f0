/**
 * The target for a listing with GET: `list=true` replaces every `list` parameter of the client. The rest of the target stays
 * byte for byte.
 *
 * @param target path with an optional query, such as `/v1/auth/token/accessors?after=x`
 */
export function listTarget(target: string): string {
  const mark = target.indexOf("?");
  if (mark === -1) return `${target}?list=true`;
  const parameters = target.slice(mark + 1).split("&");
  // Names are compared after decoding, as in the service: `%6cist=false` is a `list` too.
  const kept = parameters.filter((parameter) => parameter !== "" && !new URLSearchParams(parameter).has("list"));
  return `${target.slice(0, mark)}?${[...kept, "list=true"].join("&")}`;
}
