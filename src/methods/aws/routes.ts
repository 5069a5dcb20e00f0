import { type Route, withCanonicalPath } from "../../auth/route.ts";
import { canonicalPath } from "./path.ts";
import { ACCESS_LIST_ROUTES } from "./routes/access-list.ts";
import { CONFIG_ROUTES } from "./routes/config.ts";
import { DENY_LIST_ROUTES } from "./routes/deny-list.ts";
import { LOGIN_ROUTES } from "./routes/login.ts";
import { ROLE_TAG_ROUTES } from "./routes/role-tags.ts";
import { ROLE_ROUTES } from "./routes/roles.ts";
import { TIDY_ROUTES } from "./routes/tidy.ts";

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
