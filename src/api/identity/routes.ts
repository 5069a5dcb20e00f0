import type { Route } from "../../auth/route.ts";
import { ALIAS_ROUTES, ENTITY_ROUTES } from "./entities.ts";
import { GROUP_ALIAS_ROUTES, GROUP_ROUTES } from "./groups.ts";
import { LOOKUP_ROUTES } from "./lookup.ts";
import { ISSUER_ROUTES } from "./oidc/issuer.ts";
import { DISCOVERY_ROUTES, TOKEN_ROUTES } from "./oidc/tokens.ts";

/** Everything below `identity/`. */
export const IDENTITY_ROUTES: readonly Route[] = [
  ...ENTITY_ROUTES,
  ...ALIAS_ROUTES,
  ...GROUP_ROUTES,
  ...GROUP_ALIAS_ROUTES,
  ...LOOKUP_ROUTES,
  ...DISCOVERY_ROUTES,
  ...ISSUER_ROUTES,
  ...TOKEN_ROUTES,
];
