import type { EndpointEnv } from "../../lease/env.ts";
import type { SystemEnv } from "../../system/env.ts";
import type { KubernetesAuth } from "./kubernetes-auth.ts";

export interface KubernetesEnv extends SystemEnv, Pick<EndpointEnv, "GROVE_PRIVATE_HOSTS" | "GROVE_TRUSTED_CAS"> {
  readonly KUBERNETES_AUTH: DurableObjectNamespace<KubernetesAuth>;
}
