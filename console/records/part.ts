import type { FieldGroup, RecordValue } from "./field.ts";
import type { TerraformResource } from "./request-commands.ts";

/** A kind of records, each with a name. */
export interface Collection {
  readonly kind: "collection";
  /** The name of the part in the page's URL. */
  readonly part: string;
  readonly title: string;
  readonly one: string;
  /** Plural of `one`, when the title is not the plural. */
  readonly many?: string;
  /** Path below the scope, before the name of a record. */
  readonly itemPath: string;
  /** Path below the scope that lists the names; default: `itemPath`. */
  readonly listPath?: string;
  /** Empty for records that can only be shown and deleted here. */
  readonly groups: readonly FieldGroup[];
  /** False when records can't be created here. */
  readonly canAdd?: boolean;
  readonly empty: string;
  /** Consequences of the deletion of a record. */
  readonly loss: string;
  /** True when the records are roles, whose tokens have the record's name as their role. */
  readonly isRole?: boolean;
  readonly action?: Action;
  /** Absent when the provider has no such resource. */
  readonly terraform?: TerraformResource;
  /** An action on one record; its path follows the name. */
  readonly itemAction?: Action;
}

/** A single record of settings. */
export interface Settings {
  readonly kind: "settings";
  readonly part: string;
  readonly title: string;
  readonly path: string;
  /** True when no login works before the settings are made. */
  readonly isNeeded?: true;
  /**
   * The fields that only reads have. Set when a write replaces the whole record: a change is then sent with all other
   * stored fields, which would be lost.
   */
  readonly replacedBut?: readonly string[];
  readonly groups: readonly FieldGroup[];
  /** Consequences of their deletion; absent when they can't be deleted. */
  readonly loss?: string;
  readonly action?: Action;
  readonly terraform?: TerraformResource;
}

/** The explanation of a login, check by check. */
export interface LoginCheck {
  readonly kind: "login check";
  readonly part: string;
  readonly title: string;
  readonly path: string;
  /** The endpoint that lists the roles of the mount. */
  readonly rolesPath: string;
  /** The endpoint of the role-id, which logins send in place of the role's name. */
  readonly roleIdAt?: (role: string) => string;
  /** A hint: the role of a login that names none. Absent when each login must name one. */
  readonly roleIfEmpty?: string;
  /** True when some logins have no identity besides their role. */
  readonly mayBeEmpty?: true;
  /** Label and hint of the pasted identity. */
  readonly label: string;
  readonly hint: string;
  /** The fields of the request for the pasted text. */
  readonly fieldsOf: (pasted: string) => Readonly<Record<string, unknown>>;
}

/** The logins that were refused lately. */
export interface RefusedLogins {
  readonly kind: "refused logins";
  readonly part: string;
  readonly title: string;
  readonly path: string;
}

export type Part = Collection | Settings | LoginCheck | RefusedLogins;

/** An action of a part without a form. */
export interface Action {
  readonly label: string;
  readonly path: string;
  /** Its explanation, shown before it runs. */
  readonly text: string;
}

/** The owner of records: an auth mount, or the issuer. */
export interface Scope {
  readonly name: string;
  /** The path of the auth mount; absent for the issuer. */
  readonly mount?: string;
  /** The endpoint of a path below the scope. */
  readonly endpoint: (path: string, name?: string) => string;
  /** The URL of a page of the scope. */
  readonly page: (query: Readonly<Record<string, string>>) => string;
}

/** The body of a change of settings: with what stays, where a write replaces all. */
export function wholeBody({ replacedBut }: Settings, stored: RecordValue | null, changed: RecordValue): RecordValue {
  if (!replacedBut) return changed;
  const kept = Object.entries(stored ?? {}).filter(([name]) => !replacedBut.includes(name));
  return { ...Object.fromEntries(kept), ...changed };
}
