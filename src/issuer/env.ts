import type { SystemEnv } from "../system/env.ts";
import type { OidcIssuer } from "./oidc-issuer.ts";

/** Bindings of the issuer. */
export interface IssuerEnv extends SystemEnv {
  readonly OIDC_ISSUER: DurableObjectNamespace<OidcIssuer>;
}
