declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  /** As far as tests use it: the package has no types. */
  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    callback(): RequestListener;
  }
}
