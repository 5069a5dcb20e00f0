import type { Route } from "../../../auth/route.ts";
import { HEALTH_ROUTES } from "./health.ts";
import { INIT_ROUTES } from "./init.ts";
import { CLUSTER_ROUTES, SEAL_ROUTES } from "./status.ts";

/** State of the service, and its initialisation. */
export const STATUS_ROUTES: readonly Route[] = [...INIT_ROUTES, ...HEALTH_ROUTES, ...SEAL_ROUTES, ...CLUSTER_ROUTES];
