import type { Route } from "../../auth/route.ts";
import { ALIAS_ROUTES, GROUP_ALIAS_ROUTES } from "./aliases.ts";
import { ENTITY_ROUTES } from "./entities.ts";
import { GROUP_ROUTES } from "./groups.ts";
import { LOOKUP_ROUTES } from "./lookup.ts";
import { OIDC_ROUTES } from "./oidc/routes.ts";

/** Everything below `identity/`. */
export const IDENTITY_ROUTES: readonly Route[] = [
  ...ENTITY_ROUTES,
  ...ALIAS_ROUTES,
  ...GROUP_ROUTES,
  ...GROUP_ALIAS_ROUTES,
  ...LOOKUP_ROUTES,
  ...OIDC_ROUTES,
];
