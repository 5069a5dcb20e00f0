import { isGenerated } from "../entity-names.ts";

/** The fields of a signed-in token that name it. */
interface NamedToken {
  readonly path: string;
  readonly display_name: string;
  readonly meta: Readonly<Record<string, string>> | null;
}

/**
 * The display name of the user: the entity's name, unless it was generated; then the metadata field `name`, if a login
 * made the token; then the token's display name. `name` comes before the display name because the latter has the
 * provider's `sub`. Metadata of a child token does not count, since it was chosen by the creator of the token.
 */
export function nameOf(entity: string, { path, display_name: displayName, meta }: NamedToken): string {
  if (entity !== "" && !isGenerated(entity)) return entity;
  const isOfLogin = path.startsWith("auth/") && !path.startsWith("auth/token/");
  return (isOfLogin && meta?.name) || displayName || "token";
}
