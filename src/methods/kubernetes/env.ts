import type { TrustedCasEnv } from "../../base/trusted-cas.ts";
import type { EndpointEnv } from "../../lease/env.ts";
import type { SystemEnv } from "../../system/env.ts";
import type { KubernetesAuth } from "./kubernetes-auth.ts";

export interface KubernetesEnv extends SystemEnv, Pick<EndpointEnv, "GROVE_PRIVATE_HOSTS">, TrustedCasEnv {
  readonly KUBERNETES_AUTH: DurableObjectNamespace<KubernetesAuth>;
}
