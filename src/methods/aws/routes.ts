import { type Route, withCanonicalPath, withParameters } from "../../auth/route.ts";
import { canonicalPath } from "./path.ts";
import {
  CERTIFICATE_ROUTES,
  CLIENT_ROUTES,
  IDENTITY_ROUTES,
  STS_ROUTES,
  TIDY_SETTINGS_ROUTES,
} from "./routes/config.ts";
import { ACCESS_LIST_ROUTES, DENY_LIST_ROUTES, TIDY_ROUTES } from "./routes/lists.ts";
import { LOGIN_ROUTES } from "./routes/login.ts";
import { ROLE_ROUTES, ROLE_TAG_ROUTES } from "./routes/roles.ts";

const PARAMETERS = {
  account_id: "The id of the account",
  cert_name: "The name of the certificate",
  instance_id: "The id of the instance",
  role: "The name of the role",
  role_tag: "The tag, as it is or as base64",
};

/** The cloud method, in the vocabulary of the `cloud` mount type. */
export const CLOUD_ROUTES: readonly Route[] = withParameters(
  PARAMETERS,
  withCanonicalPath(canonicalPath, [
    ...LOGIN_ROUTES,
    ...CLIENT_ROUTES,
    ...IDENTITY_ROUTES,
    ...CERTIFICATE_ROUTES,
    ...STS_ROUTES,
    ...TIDY_SETTINGS_ROUTES,
    ...ROLE_TAG_ROUTES,
    ...ROLE_ROUTES,
    ...DENY_LIST_ROUTES,
    ...ACCESS_LIST_ROUTES,
    ...TIDY_ROUTES,
  ]),
);
