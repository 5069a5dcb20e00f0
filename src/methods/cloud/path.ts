import { tagValueOfPath } from "./role-tag/tag-value.ts";

/**
 * A path below a mount of this method in the spelling that names what it means: by the present names of the lists, a role in
 * lower case, a role tag as it is. So one rule of a policy holds for every way to the same thing.
 */
export function canonicalPath(path: string): string {
  return path
    .replace(/^((?:config\/)?(?:tidy\/)?)identity-whitelist(?=\/|$)/, "$1identity-accesslist")
    .replace(/^((?:config\/)?(?:tidy\/)?)roletag-blacklist(?=\/|$)/, "$1roletag-denylist")
    .replace(/^role$/, "roles")
    .replace(/^role\/[^/]+(?:\/tag)?$/, (role) => role.toLowerCase())
    .replace(/^(roletag-denylist\/)(.+)$/s, (_, place: string, tag: string) => place + tagValueOfPath(tag));
}
