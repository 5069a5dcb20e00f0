import type { AuthMethod } from "../../auth/method.ts";
import { renewCloudLogin } from "./login/renewal.ts";
import { cloudAuthAt } from "./mount.ts";
import { CLOUD_ROUTES } from "./routes.ts";
import type { CloudMountType } from "./vocabulary.ts";
import { withVocabulary } from "./vocabulary-adapter.ts";

/** Logins of instances and principals of a cloud, in the vocabulary of the mount type. */
function cloudMethod(type: CloudMountType): AuthMethod {
  return {
    type,
    routes: withVocabulary(type, CLOUD_ROUTES),
    renew: renewCloudLogin,
    erase: (env, mount) => cloudAuthAt(env, mount).erase(),
  };
}

export const CLOUD_METHOD: AuthMethod = cloudMethod("cloud");
export const AWS_METHOD: AuthMethod = cloudMethod("aws");
