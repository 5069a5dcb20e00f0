import { type AtMount, mountOf } from "../../../auth/mount-of.ts";
import { within } from "../../../base/location.ts";
import type { Env } from "../../../env.ts";
import type { Mount } from "../../../system/mount.ts";
import type { CloudMountType } from "../vocabulary.ts";
import type { CloudAuth } from "./cloud-auth.ts";

/** The vocabulary that a mount speaks. */
export function mountTypeOf(mount: Pick<Mount, "type">): CloudMountType {
  return mount.type === "aws" ? "aws" : "cloud";
}

/**
 * The object of a mount. Its name is the uuid of the mount, so that a method mounted anew at the same path begins
 * empty.
 */
export function cloudAuthAt(env: Env, mount: Pick<Mount, "uuid">): DurableObjectStub<CloudAuth> {
  return within(env, env.CLOUD_AUTH).getByName(mount.uuid);
}

/** The object of the mount that a request is for. */
export function cloudAuthOf(context: AtMount & { readonly env: Env }): DurableObjectStub<CloudAuth> {
  return cloudAuthAt(context.env, mountOf(context));
}
