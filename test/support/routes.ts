import { TEAM_ROUTES } from "../../src/api/team/routes.ts";
import { TABLES } from "../../src/app/routes.ts";
import { CLOUD_ROUTES } from "../../src/methods/aws/method.ts";

const TOKEN_ROUTES = TABLES.byMountType.get("token")?.routes ?? [];

/** Every endpoint of the service. */
export const ROUTES = [...TABLES.fixed.routes, ...TEAM_ROUTES, ...TOKEN_ROUTES, ...CLOUD_ROUTES];
