import type { SystemEnv } from "../system/env.ts";
import type { OidcIssuer } from "./oidc-issuer.ts";

/** The bindings that the issuer uses. */
export interface IssuerEnv extends SystemEnv {
  readonly OIDC_ISSUER: DurableObjectNamespace<OidcIssuer>;
}
