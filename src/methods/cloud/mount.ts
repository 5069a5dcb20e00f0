import type { Env } from "../../env.ts";
import type { Installation } from "../../system/installation.ts";
import type { Mount } from "../../system/mount.ts";
import type { GroveRequest } from "../../wire/request.ts";
import type { CloudAuth } from "./cloud-auth.ts";
import type { CloudMountType } from "./vocabulary.ts";

/** The part of a request's context that says at which mount it arrived. */
export interface AtMount {
  readonly request: Pick<GroveRequest, "path">;
  readonly installation: Installation;
}

/** The mount that a request of this method is for. */
export function mountOf({ request, installation }: AtMount): Mount {
  const mount = installation.mountServing(request.path.slice("auth/".length));
  if (!mount) throw new Error("a route of an auth method has a mount");
  return mount;
}

/** The vocabulary that a mount speaks. */
export function mountTypeOf(mount: Pick<Mount, "type">): CloudMountType {
  return mount.type === "aws" ? "aws" : "cloud";
}

/** The object of a mount. Named by what never comes again: a method mounted anew at the same path begins empty. */
export function cloudAuthAt(env: Env, mount: Pick<Mount, "uuid">): DurableObjectStub<CloudAuth> {
  return env.CLOUD_AUTH.getByName(mount.uuid);
}

/** The object of the mount that a request is for. */
export function cloudAuthOf(context: AtMount & { readonly env: Env }): DurableObjectStub<CloudAuth> {
  return cloudAuthAt(context.env, mountOf(context));
}
