import type { TokenSettings } from "../auth/token-settings.ts";
import type { SealedValues } from "../storage/sealed-table.ts";
import { isName } from "../wire/path-name.ts";

export const MAX_ROLE_NAME = 128;

/** True for a valid name of a role. */
export function isRoleName(text: string): boolean {
  return text.length <= MAX_ROLE_NAME && isName(text);
}

/** Returns the names of the roles whose tokens get this policy. */
export function rolesGiving(roles: SealedValues<{ readonly token: TokenSettings }>, policy: string): string[] {
  const holding = roles.holding(policy).filter(([, { token }]) => token.policies.includes(policy));
  return holding.map(([name]) => name);
}
