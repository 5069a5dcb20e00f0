import type { Installation } from "../system/installation.ts";
import type { Mount } from "../system/mount.ts";
import type { GroveRequest } from "../wire/request.ts";

/** The part of a request's context that says at which mount it arrived. */
export interface AtMount {
  readonly request: Pick<GroveRequest, "path">;
  readonly installation: Installation;
}

/** The auth mount that a request is for. Only for the routes of an auth method, which have one. */
export function mountOf({ request, installation }: AtMount): Mount {
  const mount = installation.mountServing(request.path.slice("auth/".length));
  if (!mount) throw new Error("a route of an auth method has a mount");
  return mount;
}
