import type { Route } from "../../../auth/route.ts";
import { CONFIG_ROUTES, KEY_ROUTES, ROLE_ROUTES } from "./issuer.ts";
import { DISCOVERY_ROUTES, TOKEN_ROUTES } from "./tokens.ts";

/** The OpenID issuer (identity/oidc): keys, roles, tokens, and what verifies them. */
export const OIDC_ROUTES: readonly Route[] = [
  ...DISCOVERY_ROUTES,
  ...CONFIG_ROUTES,
  ...KEY_ROUTES,
  ...ROLE_ROUTES,
  ...TOKEN_ROUTES,
];
