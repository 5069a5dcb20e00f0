import type { RenamedField } from "../role.ts";

/** The value that counts of a field with two names. */
export interface RenamedValue<T> {
  readonly value: T;
  readonly byOldName: boolean;
  /** How an error about the value begins. */
  readonly label: string;
}

/** Takes the value under the new name, else the one under the deprecated name; null when neither was sent. */
export function pickRenamed<T>(
  field: RenamedField,
  byNewName: T | undefined,
  byOldName: T | undefined,
  warnings: string[],
): RenamedValue<T> | null {
  if (byNewName !== undefined) {
    if (byOldName !== undefined) {
      warnings.push(`Both 'token_${field}' and deprecated '${field}' value supplied, ignoring the deprecated value`);
    }
    return { value: byNewName, byOldName: false, label: `error parsing role fields: token_${field}` };
  }
  return byOldName === undefined ? null : { value: byOldName, byOldName: true, label: `error parsing ${field}` };
}
