import type { AuthMethod } from "../../auth/method.ts";
import type { Route } from "../../auth/route.ts";
import { accessShardsOf, cloudAuthAt } from "./mount/mount.ts";
import { renewCloudLogin } from "./renewal.ts";
import { AWS_ROUTES, CLOUD_ROUTES } from "./routes.ts";
import type { CloudMountType } from "./vocabulary.ts";

/** Logins of instances and principals of a cloud, in the vocabulary of the mount type. */
function cloudMethod(type: CloudMountType, routes: readonly Route[]): AuthMethod {
  return {
    type,
    routes,
    renew: renewCloudLogin,
    rolesGiving: (env, mount, policy) => cloudAuthAt(env, mount).rolesGiving(policy),
    async erase(env, mount) {
      await Promise.all([cloudAuthAt(env, mount), ...accessShardsOf(env, mount).map(({ list }) => list)].map(eraseOf));
    },
  };
}

async function eraseOf(object: { erase(): Promise<void> }): Promise<void> {
  await object.erase();
}

export const CLOUD_METHOD: AuthMethod = cloudMethod("cloud", CLOUD_ROUTES);
export const AWS_METHOD: AuthMethod = cloudMethod("aws", AWS_ROUTES);
