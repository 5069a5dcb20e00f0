import type { IdentityEnv } from "../identity/env.ts";
import type { TokenTree } from "../tree/token-tree.ts";
import type { TokenRoles } from "./roles/token-roles.ts";

/** The bindings that rules of tokens use. A token names its tree, so the way to it is found here. */
export interface TokenEnv extends IdentityEnv {
  readonly TOKEN_TREE: DurableObjectNamespace<TokenTree>;
  readonly TOKEN_ROLES: DurableObjectNamespace<TokenRoles>;
}
