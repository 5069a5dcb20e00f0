import { type Route, withCanonicalPath, withParameters } from "../../auth/route.ts";
import { canonicalPath } from "./path.ts";
import { ACCESS_LIST_ROUTES } from "./routes/access-list.ts";
import { CERTIFICATE_ROUTES } from "./routes/certificates.ts";
import { CLIENT_ROUTES } from "./routes/client.ts";
import { DENY_LIST_ROUTES } from "./routes/deny-list.ts";
import { IDENTITY_ROUTES } from "./routes/identity.ts";
import { LOGIN_ROUTES } from "./routes/login.ts";
import { ROLE_TAG_ROUTES } from "./routes/role-tags.ts";
import { ROLE_ROUTES } from "./routes/roles.ts";
import { STS_ROUTES } from "./routes/sts.ts";
import { TIDY_ROUTES } from "./routes/tidy.ts";
import { TIDY_SETTINGS_ROUTES } from "./routes/tidy-settings.ts";

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
