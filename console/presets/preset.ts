import type { RecordValue } from "../records/field.ts";

/** One of the things that a preset asks for. */
export interface PresetField {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  /** What the field begins with. */
  readonly usual?: string;
  readonly isOptional?: true;
  /** True: it sets up the mount, and has no use where the mount is set up already. */
  readonly isOfMount?: true;
  /** What is wrong with a value; "" when nothing is. */
  readonly wrong: (value: string) => string;
  /** True: no text shows it. */
  readonly isSecret?: true;
}

/** Values by the names of the fields, without blanks around them. */
export type PresetValues = Readonly<Record<string, string>>;

/** What a job runs, or what has to be set up elsewhere. */
export interface Snippet {
  readonly title: string;
  readonly text: string;
}

/** What the texts are made for. */
export interface PresetPlace {
  /** The origin of this Grove. It is the audience of tokens where the issuer lets one choose. */
  readonly address: string;
  /** Path of the auth mount, without `auth/` and the last slash. */
  readonly mount: string;
  /** Name of the role and of its policy. */
  readonly role: string;
}

/** The settings of a mount without which no login works. */
export interface SettingsOfMount {
  /** What they are, for people. */
  readonly label: string;
  readonly body: (values: PresetValues, place: PresetPlace) => RecordValue;
  /** What those of a mount say that is there already, as the end of a sentence that begins with "It". */
  readonly found: (settings: RecordValue) => string;
  /** What setting them does to the logins of other roles of the mount, as a sentence. */
  readonly effect: string;
  /** True: a mount that is there already has no secret of this kind yet. */
  readonly lacksSecret?: (settings: RecordValue) => boolean;
}

/** How clients of one kind log in. */
export interface Preset {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** What the button sets up; absent: its title. */
  readonly thing?: string;
  readonly method: "approle" | "jwt" | "kubernetes" | "aws" | "oidc";
  /** How the mount is enabled, besides its type. */
  readonly settings?: Readonly<Record<string, string>>;
  /** At most three that are needed, those that are not, and the name of the role. */
  readonly fields: readonly PresetField[];
  /** What has to be done before the fields can be filled in. */
  readonly first?: Snippet;
  /** The default path of the mount. */
  readonly mount: string;
  /** The settings without which no login works. Absent: the method has none. */
  readonly settingsOfMount?: SettingsOfMount;
  /** Without its policies. */
  readonly role: (values: PresetValues, place: PresetPlace) => RecordValue;
  readonly snippets: (values: PresetValues, place: PresetPlace) => readonly Snippet[];
  /** What the check of a login begins with; "" where it needs a real token. */
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

/** A field whose whole value has a form. */
export function formed(name: string, label: string, hint: string, form: RegExp, wrong: string): PresetField {
  return { name, label, hint, wrong: (value) => (value.length <= 512 && form.test(value) ? "" : wrong) };
}

/** An address that is written in a shell or in YAML without quotes; without TLS only on the machine of the server. */
const ADDRESS =
  /^(?:https:\/\/[A-Za-z0-9.-]+|http:\/\/(?:localhost|127(?:\.\d{1,3}){3}))(?::\d{1,5})?(?:\/[\w.~%/-]*)?$/;

/** A field for an address that the server asks. It asks its own machine only with `--allow-private-host`. */
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
 * A filter of `jq` for one field of an answer. Without the field it fails with the error that the answer names, and with
 * nothing else of it. It fails when the call before it has failed: without `-n` an empty input is no failure for jq 1.6.
 */
export const jqField = (field: string): string =>
  `jq -nr 'input | .${field} // error(.error_description // .error // .message // "no ${field}")'`;

/** A login by JWT from the shell variable `JWT`. */
export const jwtLogin = (place: PresetPlace, indent: string): string =>
  shellLogin(place, `printf '{"role": "${place.role}", "jwt": "%s"}' "$JWT"`, indent);

/**
 * A login whose body a command prints: neither that nor the answer is on a command line. A login that is refused fails
 * with the status, the request id and the errors of the answer. The id is in a header, and curl before 7.84 can't write
 * one header by itself: jq reads the headers as lines, and the body as the last of them. The brackets around
 * `fromjson?` keep jq 1.6 from catching the later error with it.
 */
export function shellLogin({ mount }: PresetPlace, body: string, indent: string): string {
  return [
    `${body} |`,
    `  curl -sSi --data @- "$VAULT_ADDR/v1/auth/${mount}/login" | jq -nRr '[inputs | rtrimstr("\\r")] |`,
    `    ([last | fromjson?][0] // {}) as $body | $body.auth.client_token // error(`,
    `      map(select(test("^(HTTP/|x-request-id:)"; "i"))) + ($body.errors // []) | join(", "))'`,
  ].join(`\n${indent}`);
}
