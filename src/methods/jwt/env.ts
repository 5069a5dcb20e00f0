import type { EndpointEnv } from "../../lease/env.ts";
import type { SystemEnv } from "../../system/env.ts";
import type { JwtAuth } from "./jwt-auth.ts";

export interface JwtEnv extends SystemEnv, Pick<EndpointEnv, "GROVE_PRIVATE_HOSTS" | "GROVE_TRUSTED_CAS"> {
  readonly JWT_AUTH: DurableObjectNamespace<JwtAuth>;
}
