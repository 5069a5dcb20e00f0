import type { ReadyContext, TokenRoute } from "../auth/route.ts";
import type { AccessRequest } from "../policy/acl.ts";
import { type GroveRequest, isListing } from "../wire/request.ts";
import type { FoundRoute } from "./places.ts";

/**
 * A request as policies see it: by the canonical path of its route, and by its alternate path where there is one.
 *
 * @param found null where no endpoint serves the request.
 */
export async function accessOf(
  context: Pick<ReadyContext, "env" | "installation">,
  request: Pick<GroveRequest, "operation" | "path" | "data" | "wrapTtlSeconds">,
  found: FoundRoute<TokenRoute> | null,
): Promise<AccessRequest> {
  const { operation, data, wrapTtlSeconds } = request;
  const { route = null, mountPath = request.path } = found ?? {};
  const alternatePath = (await route?.alternatePath?.(context, request.path)) ?? null;
  const mount = request.path.slice(0, request.path.length - mountPath.length);
  const path = mount + (route?.canonicalPath?.(mountPath, data) ?? mountPath);
  return {
    operation: operation === "update" && route?.createsOrUpdates ? "create_or_update" : operation,
    path: isListing(operation) ? `${path}/` : path,
    ...(alternatePath !== null && { alternatePath }),
    data,
    ...(wrapTtlSeconds > 0 && { wrapTtlSeconds }),
  };
}
