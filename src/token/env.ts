import type { IdentityEnv } from "../identity/env.ts";
import type { TokenTree } from "../tree/token-tree.ts";
import type { TokenRoles } from "./roles/token-roles.ts";

/** The bindings that the rules of tokens use; `TOKEN_TREE` because a token contains the id of its tree. */
export interface TokenEnv extends IdentityEnv {
  readonly TOKEN_TREE: DurableObjectNamespace<TokenTree>;
  readonly TOKEN_ROLES: DurableObjectNamespace<TokenRoles>;
}
