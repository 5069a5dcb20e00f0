import type { TokenRole } from "../role.ts";
import { globMatches } from "./glob.ts";

/** True when the role lets its tokens go to the entity of `alias`: by name or by a pattern, in any case. */
export function allowsEntityAlias(role: Pick<TokenRole, "allowedEntityAliases">, alias: string): boolean {
  const wanted = alias.toLowerCase();
  return (role.allowedEntityAliases ?? []).some((allowed) => globMatches(allowed.toLowerCase(), wanted));
}
