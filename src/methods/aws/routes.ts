import { type Route, withCanonicalPath, withParameters } from "../../auth/route.ts";
import { CONFIG_ROUTES } from "./routes/config.ts";
import { LIST_ROUTES } from "./routes/lists.ts";
import { LOGIN_ROUTES } from "./routes/login.ts";
import { ROLE_ROUTES, ROLE_TAG_ROUTES } from "./routes/roles.ts";
import { tagValueOfPath } from "./rules/role-tag.ts";

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
    ...CONFIG_ROUTES,
    ...ROLE_TAG_ROUTES,
    ...ROLE_ROUTES,
    ...LIST_ROUTES,
  ]),
);

/**
 * The canonical form of a path below a mount of this method: the current names of the lists, roles in lower case, role
 * tags in their canonical value. One rule of a policy then holds for every spelling of the path.
 */
export function canonicalPath(path: string): string {
  return path
    .replace(/^((?:config\/)?(?:tidy\/)?)identity-whitelist(?=\/|$)/, "$1identity-accesslist")
    .replace(/^((?:config\/)?(?:tidy\/)?)roletag-blacklist(?=\/|$)/, "$1roletag-denylist")
    .replace(/^role$/, "roles")
    .replace(/^role\/[^/]+(?:\/tag)?$/, (role) => role.toLowerCase())
    .replace(/^(roletag-denylist\/)(.+)$/s, (_, place: string, tag: string) => place + tagValueOfPath(tag));
}
