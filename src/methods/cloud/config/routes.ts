import type { Route } from "../../../auth/route.ts";
import { CERTIFICATE_ROUTES } from "./certificate-routes.ts";
import { CLIENT_ROUTES } from "./client-routes.ts";
import { IDENTITY_ROUTES } from "./identity-routes.ts";
import { STS_ROUTES } from "./sts-routes.ts";
import { TIDY_SETTINGS_ROUTES } from "./tidy-settings-routes.ts";

/** Everything below `config/`. */
export const CONFIG_ROUTES: readonly Route[] = [
  ...CLIENT_ROUTES,
  ...IDENTITY_ROUTES,
  ...CERTIFICATE_ROUTES,
  ...STS_ROUTES,
  ...TIDY_SETTINGS_ROUTES,
];
