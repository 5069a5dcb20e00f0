import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import type { Mount } from "../system/mount.ts";
import type { GroveRequest } from "../wire/request.ts";
import type { LoginRenewer } from "./login-renewal.ts";
import type { Route } from "./route.ts";

/** An auth method that can be mounted. `src/methods/registry.ts` lists all of them. */
export interface AuthMethod extends LoginRenewer {
  /** The type of its mounts. */
  readonly type: string;
  /** Its endpoints, by the path below a mount. Logins are among them. */
  readonly routes: readonly Route[];
  /** Deletes everything that the method stored for a mount, after the mount was disabled. Safe to repeat. */
  erase(env: Env, mount: Pick<Mount, "uuid">): Promise<void>;
}

/** Auth methods by their type. */
export type AuthMethods = ReadonlyMap<string, AuthMethod>;

/** The part of a request's context that identifies its auth mount. */
export interface AtMount {
  readonly request: Pick<GroveRequest, "path">;
  readonly installation: Installation;
}

/** Returns the auth mount of a request to a route of an auth method. @throws when no mount serves its path: a bug. */
export function mountOf({ request, installation }: AtMount): Mount {
  const mount = installation.mountServing(request.path);
  if (!mount) throw new Error("a route of an auth method has a mount");
  return mount;
}
