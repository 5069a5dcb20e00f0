import type { RecordValue } from "../records/field.ts";

/** A field of a preset's form. */
export interface PresetField {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  /** The initial value. */
  readonly usual?: string;
  readonly isOptional?: true;
  /** True when the field is a setting of the mount, and has no effect on a mount that is set up already. */
  readonly isOfMount?: true;
  /** The mistake in a value; "" without one. */
  readonly wrong: (value: string) => string;
  /** True when no text may show the value. */
  readonly isSecret?: true;
}

/** Values by the names of the fields, trimmed. */
export type PresetValues = Readonly<Record<string, string>>;

/** A text to copy: for the client, or for the setup elsewhere. */
export interface Snippet {
  readonly title: string;
  readonly text: string;
}

/** Where the texts of a preset log in. */
export interface PresetPlace {
  /** The origin of this Grove, and the audience of tokens if the issuer lets one choose it. */
  readonly address: string;
  /** Path of the auth mount, without `auth/` and the last slash. */
  readonly mount: string;
  /** Name of the role and of its policy. */
  readonly role: string;
}

/** The settings of a mount without which no login works. */
export interface SettingsOfMount {
  /** The label for the user. */
  readonly label: string;
  readonly body: (values: PresetValues, place: PresetPlace) => RecordValue;
  /** The settings of an existing mount, as the end of a sentence that begins with "It". */
  readonly found: (settings: RecordValue) => string;
  /** The effect of setting them on the logins of the mount's other roles, as a sentence. */
  readonly effect: string;
  /** True when an existing mount has no such secret yet. */
  readonly lacksSecret?: (settings: RecordValue) => boolean;
}

/** How clients of one kind log in. */
export interface Preset {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** What the button sets up, in words; default: the title. */
  readonly thing?: string;
  readonly method: "approle" | "jwt" | "kubernetes" | "aws" | "oidc";
  /** Settings with which the mount is enabled, besides its type. */
  readonly settings?: Readonly<Record<string, string>>;
  /** At most three required fields, optional ones, and the name of the role. */
  readonly fields: readonly PresetField[];
  /** Something to do before the fields can be filled in. */
  readonly first?: Snippet;
  /** The addresses to which a client at the provider returns: it is set up there before its secret is known. */
  readonly returnsTo?: (place: PresetPlace) => readonly string[];
  /** The default path of the mount. */
  readonly mount: string;
  /** Settings without which no login works. Absent: the method has none. */
  readonly settingsOfMount?: SettingsOfMount;
  /** The body of the role, without its policies. */
  readonly role: (values: PresetValues, place: PresetPlace) => RecordValue;
  readonly snippets: (values: PresetValues, place: PresetPlace) => readonly Snippet[];
  /** The initial value in the check of a login; "" when it needs a real token. */
  readonly identity: (values: PresetValues, place: PresetPlace) => string;
}

const NAME = /^[A-Za-z0-9](?:[\w.-]{0,126}[A-Za-z0-9])?$/;

/** The field that every preset ends with. */
export const ROLE_FIELD: PresetField = {
  name: "role",
  label: "Role",
  hint: "The name of the role and of its policy, as in deploy.",
  wrong: (value) => (NAME.test(value) ? "" : "Letters, digits, dots, dashes and underscores."),
};

/** A field whose whole value must match a form. */
export function formed(name: string, label: string, hint: string, form: RegExp, wrong: string): PresetField {
  return { name, label, hint, wrong: (value) => (value.length <= 512 && form.test(value) ? "" : wrong) };
}

/** A URL that needs no quotes in a shell or in YAML, with TLS unless it is on the server's machine. */
const ADDRESS =
  /^(?:https:\/\/[A-Za-z0-9.-]+|http:\/\/(?:localhost|127(?:\.\d{1,3}){3}))(?::\d{1,5})?(?:\/[\w.~%/-]*)?$/;

/** A field for a URL that the server calls. It calls its own machine only with `--allow-private-host`. */
export const addressField = (name: string, label: string, hint: string): PresetField => ({
  ...formed(
    name,
    label,
    hint,
    ADDRESS,
    "An address that begins with https://, or with http:// on the server's machine.",
  ),
  isOfMount: true,
});

/**
 * A `jq` filter for one field of an answer. Without the field it fails with the answer's error message, and shows
 * nothing else of the answer. It also fails when the preceding call has failed: without `-n`, jq 1.6 accepts an empty
 * input.
 */
export const jqField = (field: string): string =>
  `jq -nr 'input | .${field} // error(.error_description // .error // .message // "no ${field}")'`;

/** A login by JWT from the shell variable `JWT`. */
export const jwtLogin = (place: PresetPlace, indent: string): string =>
  shellLogin(place, `printf '{"role": "${place.role}", "jwt": "%s"}' "$JWT"`, indent);

/**
 * A login whose body is printed by a command, so that neither the body nor the answer is on a command line. A refused
 * login fails with the status, the request id and the errors of the answer. The id is in a header, which curl before
 * 7.84 can't print alone, so jq reads the headers as lines, and the body as the last line. The brackets around
 * `fromjson?` keep jq 1.6 from also catching the later error.
 */
export function shellLogin({ mount }: PresetPlace, body: string, indent: string): string {
  return [
    `${body} |`,
    `  curl -sSi --data @- "$VAULT_ADDR/v1/auth/${mount}/login" | jq -nRr '[inputs | rtrimstr("\\r")] |`,
    `    ([last | fromjson?][0] // {}) as $body | $body.auth.client_token // error(`,
    `      map(select(test("^(HTTP/|x-request-id:)"; "i"))) + ($body.errors // []) | join(", "))'`,
  ].join(`\n${indent}`);
}
