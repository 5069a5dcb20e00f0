import { tagValueOfPath } from "./rules/role-tag.ts";

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
