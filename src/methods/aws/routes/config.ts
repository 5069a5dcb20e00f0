import type { Route } from "../../../auth/route.ts";
import { CERTIFICATE_ROUTES } from "./certificates.ts";
import { CLIENT_ROUTES } from "./client.ts";
import { IDENTITY_ROUTES } from "./identity.ts";
import { STS_ROUTES } from "./sts.ts";
import { TIDY_SETTINGS_ROUTES } from "./tidy-settings.ts";

/** Everything below `config/`. */
export const CONFIG_ROUTES: readonly Route[] = [
  ...CLIENT_ROUTES,
  ...IDENTITY_ROUTES,
  ...CERTIFICATE_ROUTES,
  ...STS_ROUTES,
  ...TIDY_SETTINGS_ROUTES,
];
