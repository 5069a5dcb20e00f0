import type { SystemEnv } from "../system/env.ts";
import type { OidcIssuer } from "./oidc-issuer.ts";

export interface IssuerEnv extends SystemEnv {
  readonly OIDC_ISSUER: DurableObjectNamespace<OidcIssuer>;
}
