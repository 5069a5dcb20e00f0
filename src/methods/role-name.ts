import type { TokenSettings } from "../auth/token-settings.ts";
import type { SealedValues } from "../storage/sealed-table.ts";
import { text } from "../wire/fields.ts";
import { isName } from "../wire/path-segment.ts";

export const MAX_METHOD_ROLE_NAME = 128;

/** True for a valid name of a role. */
export function isRoleName(text: string): boolean {
  return text.length <= MAX_METHOD_ROLE_NAME && isName(text);
}

/** Every method reads the role of a login as text: the number 7 is the role "7". */
const ROLE = text();

/** Returns the role that a login names: "" when it names none, null when the role is not a valid name. */
export function namedRole({ role = null }: Readonly<Record<string, unknown>>): string | null {
  if (role === null) return "";
  const read = ROLE.read(role);
  return read.ok ? read.value : null;
}

/** Returns the names of the roles whose tokens get this policy. */
export function rolesGiving(roles: SealedValues<{ readonly token: TokenSettings }>, policy: string): string[] {
  const holding = roles.holding(policy).filter(([, { token }]) => token.policies.includes(policy));
  return holding.map(([name]) => name);
}
