import type { TerraformResource } from "./commands.ts";
import type { FieldGroup } from "./field.ts";

/** Things of one kind, each by its name. */
export interface Collection {
  readonly kind: "collection";
  /** In the address of the page. */
  readonly part: string;
  readonly title: string;
  readonly one: string;
  /** Below the scope: what comes before a name. */
  readonly itemPath: string;
  /** Below the scope: where names are listed; absent: at `itemPath`. */
  readonly listPath?: string;
  /** None where entries are made by something else, and are shown and taken away here. */
  readonly groups: readonly FieldGroup[];
  /** False: an entry can't be made here. */
  readonly canAdd?: boolean;
  readonly empty: string;
  /** What the deletion of one takes away. */
  readonly loss: string;
  /** True: its tokens have its name as their role. */
  readonly isRole?: boolean;
  readonly action?: Action;
  /** Absent where the provider has none. */
  readonly terraform?: TerraformResource;
  /** Done to one of them: its path stands after the name. */
  readonly itemAction?: Action;
}

/** Settings: one of a kind. */
export interface Settings {
  readonly kind: "settings";
  readonly part: string;
  readonly title: string;
  readonly path: string;
  readonly groups: readonly FieldGroup[];
  /** What their deletion takes away; absent where they can't be deleted. */
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
  /** Where the roles of the mount are listed. */
  readonly rolesPath: string;
  /** What is pasted, and in which forms. */
  readonly label: string;
  readonly hint: string;
  /** The fields of the request for what was pasted. */
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

/** Something that a part does when asked, without a form. */
export interface Action {
  readonly label: string;
  readonly path: string;
  /** What it does, before it is done. */
  readonly text: string;
}

/** What records belong to: an auth mount, or the issuer. */
export interface Scope {
  readonly name: string;
  /** The auth mount that it is; absent where there is none. */
  readonly mount?: string;
  /** The endpoint of something below it. */
  readonly endpoint: (path: string, name?: string) => string;
  /** The address of a page about it. */
  readonly page: (query: Readonly<Record<string, string>>) => string;
}
