import { type Route, withCanonicalPath } from "../../auth/route.ts";
import { ACCESS_LIST_ROUTES } from "./access-list/routes.ts";
import { CONFIG_ROUTES } from "./config/routes.ts";
import { DENY_LIST_ROUTES } from "./deny-list/routes.ts";
import { LOGIN_ROUTES } from "./login/routes.ts";
import { canonicalPath } from "./path.ts";
import { ROLE_TAG_ROUTES } from "./role-tag/create.ts";
import { ROLE_ROUTES } from "./roles/routes.ts";
import { TIDY_ROUTES } from "./tidy/routes.ts";

/** The cloud method, in the vocabulary of the `cloud` mount type. */
export const CLOUD_ROUTES: readonly Route[] = withCanonicalPath(canonicalPath, [
  ...LOGIN_ROUTES,
  ...CONFIG_ROUTES,
  ...ROLE_TAG_ROUTES,
  ...ROLE_ROUTES,
  ...DENY_LIST_ROUTES,
  ...ACCESS_LIST_ROUTES,
  ...TIDY_ROUTES,
]);
