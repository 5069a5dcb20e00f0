import type { RecordValue } from "../records/field.ts";
import type { LoginCheck } from "../records/part.ts";

/** The role that a check begins with: the only one of the mount; "" when there are several, or none. */
export const onlyRole = (names: readonly string[]): string => (names.length === 1 ? (names[0] ?? "") : "");

/**
 * The mistake in the role of a login; "" without one. An empty role is one, unless the method has a role for it or the
 * pasted body of a login names one.
 */
export function roleMistake(
  { roleIfEmpty }: Pick<LoginCheck, "roleIfEmpty">,
  role: string,
  pasted: RecordValue,
): string {
  const isNamed = role.trim() !== "" || Boolean(pasted.role || pasted.role_id);
  return isNamed || roleIfEmpty !== undefined ? "" : "Needed";
}
