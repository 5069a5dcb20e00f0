import type { EndpointEnv } from "../../lease/env.ts";
import type { SystemEnv } from "../../system/env.ts";
import type { KubernetesAuth } from "./kubernetes-auth.ts";

export interface KubernetesEnv extends SystemEnv, Pick<EndpointEnv, "GROVE_PRIVATE_HOSTS"> {
  /** In PEM: certificates that connections are checked against besides public ones. Set by `npm run serve`. */
  readonly GROVE_TRUSTED_CAS?: string;
  readonly KUBERNETES_AUTH: DurableObjectNamespace<KubernetesAuth>;
}
