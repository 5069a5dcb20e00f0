import { tokenTerms } from "../../auth/token-settings.ts";
import type { LoginAlias } from "../../identity/login.ts";
import type { Mount } from "../../system/mount.ts";
import type { Login } from "../../token/rules/login.ts";
import type { VerifiedJwt } from "./login-checks.ts";

/** Whom a verified login is for. */
export function aliasOf(mount: Mount, { roleName, identity }: VerifiedJwt): LoginAlias {
  const { alias: aliasName, groups } = identity;
  const metadata = { ...identity.metadata, role: roleName };
  return { mountAccessor: mount.accessor, aliasName, metadata, ...(groups && { groups }) };
}

/** The token that a verified login gets. */
export function tokenOf({ roleName, role: { token }, boundCidrs, identity }: VerifiedJwt, entityId: string): Login {
  return {
    ...tokenTerms(token, boundCidrs),
    displayName: identity.alias,
    metadata: { ...identity.metadata, role: roleName },
    entityId,
    internal: { role: roleName },
  };
}
