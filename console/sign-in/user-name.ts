import { isGenerated } from "../entity-names.ts";

/** What is known of a signed-in token. */
interface NamedToken {
  readonly path: string;
  readonly display_name: string;
  readonly meta: Readonly<Record<string, string>> | null;
}

/**
 * The name of the user: that of the entity; where it has none or a generated one, what the login copied to `name` of the
 * metadata, as a provider's `sub` is no name; or else that of the token. Who makes a token below another one chooses its
 * metadata, so only those of a login count.
 */
export function nameOf(entity: string, { path, display_name: displayName, meta }: NamedToken): string {
  if (entity !== "" && !isGenerated(entity)) return entity;
  const isOfLogin = path.startsWith("auth/") && !path.startsWith("auth/token/");
  return (isOfLogin && meta?.name) || displayName || "token";
}
