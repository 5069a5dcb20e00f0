import { BOUND_FIELDS } from "./role.ts";
import type { RoleFields } from "./role-fields.ts";

/** Characters of a role's name. */
export const MAX_ROLE_NAME = 128;
/** Roles of one mount. */
export const MAX_ROLES = 10_000;
/** Characters of a role as it is stored: it travels with every login against it. */
export const MAX_ROLE_LENGTH = 131_072;

/** The cloud's longest names are ARNs. */
const ITEM = /^[ -~]{1,2048}$/;
const REGION = /^[a-z0-9-]{0,32}$/;
const TAG_KEY = /^\P{Cc}{0,1024}$/u;

/** Why the fields of a role can't be stored whatever they mean, or null. */
export function roleFieldsProblem(sent: RoleFields): string | null {
  for (const field of BOUND_FIELDS) {
    const items = sent[field] ?? [];
    const bad = items.findIndex((item) => !ITEM.test(item));
    if (bad >= 0) return `${field}: item ${bad + 1} is too long or holds characters that no such name has`;
  }
  if (!REGION.test(sent.inferred_cloud_region ?? "")) return "inferred_cloud_region is not the name of a region";
  if (!TAG_KEY.test(sent.role_tag ?? "")) return "role_tag can't be the key of a tag";
  return null;
}
