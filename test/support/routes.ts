import { TABLES } from "../../src/app/routes.ts";
import { CLOUD_ROUTES } from "../../src/methods/aws/method.ts";

const { fixed, apis, byMountType } = TABLES;
const FULL_PATHS = [fixed, ...apis].flatMap(({ routes }) => routes);
const TOKEN_ROUTES = byMountType.get("token")?.routes ?? [];

/** Every endpoint of the service. */
export const ROUTES = [...FULL_PATHS, ...TOKEN_ROUTES, ...CLOUD_ROUTES];
