import { TEAM_ROUTES } from "../../src/api/team/routes.ts";
import { TOKEN_ROUTES } from "../../src/api/token/routes.ts";
import { FIXED_ROUTES } from "../../src/app/routes.ts";
import { CLOUD_ROUTES } from "../../src/methods/aws/method.ts";

/** Every endpoint of the service. */
export const ROUTES = [...FIXED_ROUTES, ...TEAM_ROUTES, ...TOKEN_ROUTES, ...CLOUD_ROUTES];
