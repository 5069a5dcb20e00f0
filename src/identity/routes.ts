import type { Route } from "../http/route.ts";
import { ALIAS_ROUTES } from "./alias-routes.ts";
import { ENTITY_ROUTES } from "./entity-routes.ts";
import { GROUP_ROUTES } from "./group-routes.ts";
import { LOOKUP_ROUTES } from "./lookup-routes.ts";

/** Everything below `identity/`. */
export const IDENTITY_ROUTES: readonly Route[] = [...ENTITY_ROUTES, ...ALIAS_ROUTES, ...GROUP_ROUTES, ...LOOKUP_ROUTES];
