import { type Field, type RecordValue, secondsOf } from "./field.ts";

/** The request of a form. */
export interface FormRequest {
  /** As in `Api.call`, like the other members. */
  readonly path: string;
  readonly body: RecordValue;
  readonly method?: "POST" | "PATCH";
  readonly contentType?: string;
  readonly wrapSeconds?: number;
}

/** The Terraform resource of a record. The arguments have the names of the fields, with these exceptions. */
export interface TerraformResource {
  readonly type: string;
  /** The arguments for the auth mount and for the name that are in the path. */
  readonly mount?: string;
  readonly name?: string;
  /** Arguments by the name of the field. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Comma-separated fields that are lists in Terraform. */
  readonly lists?: readonly string[];
  /** Fields without an argument. */
  readonly lacks?: readonly string[];
}

/** The resource, with arguments that are not fields. */
export interface TerraformRecord {
  readonly resource: TerraformResource;
  readonly given?: RecordValue;
  /** Arguments that refer to other resources, as expressions. */
  readonly references?: Readonly<Record<string, string>>;
}

/** The resource of a record of an auth mount, by its name. */
export function recordOf(resource: TerraformResource, mount?: string, name?: string): TerraformRecord {
  const given = {
    ...(resource.mount !== undefined && { [resource.mount]: mount }),
    ...(resource.name !== undefined && name !== undefined && { [resource.name]: name }),
  };
  return { resource, given };
}

/** The end of a here-document. No line of the JSON equals it, since line breaks in texts are written `\n`. */
const END = "EOF";

/** A text, quoted as one word of a shell. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The commands that unwrap what a wrapping token has: the whole answer, or one field of it. */
export const unwrapCommands = (address: string, wrapping: string, field = ""): string =>
  `export VAULT_ADDR=${shellWord(address)}\nVAULT_TOKEN=${shellWord(wrapping)} bao unwrap${field === "" ? "" : ` -field=${field}`}\n`;

const documentOf = (body: unknown): string => `<<'${END}'\n${JSON.stringify(body, null, 2)}\n${END}\n`;

/** The request as a command of `bao` (or `vault`); null when there is none. The body is a here-document. */
export function baoCommand({ path, body, method = "POST", wrapSeconds }: FormRequest): string | null {
  if (path.startsWith("/") || method !== "POST") return null;
  const wrap = wrapSeconds === undefined ? "" : `-wrap-ttl=${wrapSeconds} `;
  return `bao write ${wrap}${shellWord(path.split("/").map(decodeURIComponent).join("/"))} - ${documentOf(body)}`;
}

/** The request as a command of `curl`. Address and token are variables of the shell. */
export function curlCommand(request: FormRequest): string {
  const { path, body, method = "POST", contentType = "application/json", wrapSeconds } = request;
  const url = `"$VAULT_ADDR"${shellWord(path.startsWith("/") ? path : `/v1/${path}`)}`;
  const wrap = wrapSeconds === undefined ? "" : ` --header 'X-Vault-Wrap-TTL: ${wrapSeconds}'`;
  const headers = `--header @<(printf 'X-Vault-Token: %s' "$VAULT_TOKEN") --header 'Content-Type: ${contentType}'${wrap}`;
  return `curl --fail-with-body --request ${method} ${headers} --data-binary @- ${url} ${documentOf(body)}`;
}

/**
 * The record as a Terraform resource.
 *
 * @param values by the names of the fields, as they are sent
 */
export function terraformText(
  { resource, given = {}, references = {} }: TerraformRecord,
  fields: readonly Field[],
  values: RecordValue,
): string {
  const { type, name = "name", renamed = {}, lists = [], lacks = [] } = resource;
  const kinds = new Map(fields.map((field) => [field.name, field.kind]));
  const argumentOf = (field: string): string => renamed[field] ?? field.replaceAll("-", "_");
  const missing = Object.keys(values).filter((field) => lacks.includes(field));
  const own = Object.entries(values).filter(([field, value]) => !missing.includes(field) && value !== null);
  const entries = [
    ...Object.entries(given).map(([argument, value]) => [argument, literal(value)] as const),
    ...own.map(([field, value]) => {
      const argument = argumentOf(field);
      if (kinds.get(field) === "secret") return [argument, `var.${argument}`] as const;
      if (kinds.get(field) === "duration") return [argument, String(secondsOf(String(value)))] as const;
      return [argument, literal(lists.includes(field) ? itemsOf(String(value)) : value)] as const;
    }),
  ];
  const all = { ...given, ...Object.fromEntries(own.map(([field, value]) => [argumentOf(field), value])) };
  const [first] = [name, "name", "path", "description"].flatMap((argument) => all[argument] ?? []);
  const secrets = own.filter(([field]) => kinds.get(field) === "secret").map(([field]) => argumentOf(field));
  const lines = [
    ...missing.map((field) => `  # The provider has no argument for ${field}.`),
    ...secrets.map((argument) => `  # No read shows ${argument}: the first plan after an import sets it again.`),
    ...aligned(entries.map(([argument, value]) => [argument, references[argument] ?? value] as const)),
  ];
  return `resource "${type}" "${labelOf(String(first ?? "main"))}" {\n${lines.map((line) => `${line}\n`).join("")}}\n`;
}

/** The label of a resource with this name. */
export const labelOf = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, "_").replace(/^(?![A-Za-z_])/, "_");

const itemsOf = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

function aligned(entries: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `  ${name.padEnd(width)} = ${value}`);
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    // Maps of the provider have only strings as values.
    const entries = Object.entries(value).map(([key, item]) => `${quoted(key)} = ${quoted(textOf(item))}`);
    return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
  }
  return typeof value === "string" ? quoted(value) : String(value);
}

const textOf = (item: unknown): string =>
  Array.isArray(item) ? item.map(String).join(",") : typeof item === "object" ? JSON.stringify(item) : String(item);

/** A Terraform string without templates. Terraform does not have all escapes of JSON. */
const quoted = (text: string): string =>
  JSON.stringify(text)
    .replace(/\\(.)/g, (pair, letter) => ({ b: "\\u0008", f: "\\u000c" })[String(letter)] ?? pair)
    .replace(/[$%](?=\{)/g, "$&$&");
