import type { Env } from "../env.ts";
import type { Mount } from "../system/mount.ts";
import type { LoginRenewer } from "./login-renewal.ts";
import type { Route } from "./route.ts";

/** An auth method that can be mounted. `src/methods/registry.ts` lists all of them. */
export interface AuthMethod extends LoginRenewer {
  /** The type of its mounts. */
  readonly type: string;
  /** Its endpoints, by the path below a mount. Logins are among them. */
  readonly routes: readonly Route[];
  /** Deletes all that the method stored for a mount, which is disabled and will not be used again. Safe to repeat. */
  erase(env: Env, mount: Pick<Mount, "uuid">): Promise<void>;
}

/** Auth methods by their type. */
export type AuthMethods = ReadonlyMap<string, AuthMethod>;
