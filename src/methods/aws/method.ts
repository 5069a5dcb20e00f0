import type { AuthMethod } from "../../auth/method.ts";
import { accessShardsOf } from "./mount/access-shards.ts";
import { cloudAuthAt } from "./mount/mount.ts";
import { renewCloudLogin } from "./renewal.ts";
import { CLOUD_ROUTES } from "./routes.ts";
import type { CloudMountType } from "./vocabulary.ts";
import { withVocabulary } from "./vocabulary-adapter.ts";

/** Logins of instances and principals of a cloud, in the vocabulary of the mount type. */
function cloudMethod(type: CloudMountType): AuthMethod {
  return {
    type,
    routes: withVocabulary(type, CLOUD_ROUTES),
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

export const CLOUD_METHOD: AuthMethod = cloudMethod("cloud");
export const AWS_METHOD: AuthMethod = cloudMethod("aws");
