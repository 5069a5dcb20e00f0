import { wrapped } from "./wrap.ts";

/** The part of an OpenAPI document that the page shows. */
export interface ShownDocument {
  readonly paths: Readonly<Record<string, unknown>>;
}

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly deprecated?: boolean;
  readonly description?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface Parameter {
  readonly name: string;
  readonly description?: string;
  readonly schema: Schema;
}
interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, unknown>>;
}
interface Item extends Readonly<Partial<Record<(typeof METHODS)[number], Operation>>> {
  readonly parameters?: readonly Parameter[];
  readonly "x-vault-sudo"?: boolean;
  readonly "x-vault-unauthenticated"?: boolean;
}

const METHODS = ["get", "post", "patch", "delete"] as const;
const TITLES: Readonly<Record<string, string>> = {
  auth: "Auth methods, below `/v1/auth/`",
  system: "System, below `/v1/sys/`",
  identity: "Identity, below `/v1/identity/`",
  cubbyhole: "Cubbyhole",
  teams: "Teams, below `/api/v2`",
  "well-known": "Discovery",
};

/** Number of endpoints from which on a field is described once, at the end of the page. */
const SEVERAL = 2;
/** Number of fields from which on a list is written once. */
const LONG = 3;
/** Two lists are alike when they share so many fields and the second lacks at most so many of the first. */
const ALIKE = { shared: 4, lacking: 1 };
/** Statuses that the top of the page names for all requests. */
const USUAL = ["200", "204"];
/** Every list has these two; the top of the page says it. */
const PAGING = ["list", "after", "limit"];
/** The description of a parameter of the path that says no more than its name. */
const OBVIOUS = /^(The )?(name|id|accessor) of the [a-z ]+\.?$/i;
/** Descriptions of fields that have no effect of their own, whatever their types are. */
const INERT = /^(Refused|Without effect|Ignored|Not used|Not supported|Stored and shown)/;
/** A summary that says no more than method and path do. */
const PLAIN = /^(Shows|Lists|Deletes)( [\w'-]+){1,5}\.$/;
/** A mount of this type has the endpoints of `aws`, with other words in some names of fields. */
const SAME_METHOD = "/auth/cloud/";

/** The page of the API: every operation of an OpenAPI document with its fields. */
export function apiPage({ paths }: ShownDocument): string {
  const items = (Object.entries(paths) as [string, Item][]).filter(([path]) => !path.startsWith(SAME_METHOD));
  const page = new Page(commonFields(fieldsOf(items.map(([, item]) => item))));
  const byText = new Map<string, { readonly tag: string; readonly paths: string[] }>();
  for (const [path, item] of items) {
    const [first] = METHODS.flatMap((method) => item[method] ?? []);
    const tag = first?.tags[0] ?? "";
    const text = page.itemText(path, item);
    const same = byText.get(`${tag}\n${text}`) ?? { tag, paths: [] };
    same.paths.push(path);
    byText.set(`${tag}\n${text}`, same);
  }
  const byTag = Map.groupBy(byText, ([, { tag }]) => tag);
  const sections = [...byTag].map(([tag, entries]) => {
    const texts = entries.map(([key, { paths: same }]) => {
      const title = same.map((path) => `\`${path}\``).join(", ");
      return `### ${title}${key.slice(tag.length + 1)}`;
    });
    return `## ${TITLES[tag] ?? tag}\n\n${texts.join("\n\n")}`;
  });
  return wrapped(`# API

Every endpoint with its fields. \`npm run docs:api\` writes this page from the table of routes; a test fails when it is stale. \`sys/internal/specs/openapi\` answers the same for programs, with ids of operations.
[compatibility.md](compatibility.md) says where Grove differs from the reference.

- A request answers 200, or 204 without a body, unless the page says another status.
- A GET without text shows what the path names, with \`list\` it lists it, and a DELETE deletes it.
- A GET with \`list\` may also be sent as LIST. Every list takes \`after\` and \`limit\`.
- A field is a string, and a list has strings, unless the page says another type (not of fields without effect). Fields without a description are [described once](#fields-of-several-endpoints).
- Auth methods stand at the path that is their name. A mount of type \`cloud\` has the endpoints of \`aws\`; the names of its fields have \`cloud\`, \`vm\` and \`image\` for \`aws\`, \`ec2\` and \`ami\`.

${sections.join("\n\n")}

## Fields of several endpoints

${fieldLines([...page.common.values()].sort((a, b) => (a.name < b.name ? -1 : 1)))}
`);
}

/** By its line, the most frequent description of each field that several endpoints have. */
function commonFields(fields: readonly Parameter[]): ReadonlyMap<string, Parameter> {
  const most = new Map<string, readonly Parameter[]>();
  for (const same of Map.groupBy(fields, line).values()) {
    const name = same[0]?.name ?? "";
    const isMost = same.length > (most.get(name)?.length ?? 0);
    if (same.length >= SEVERAL && isMost && !PAGING.includes(name)) most.set(name, same);
  }
  return new Map([...most.values()].flatMap(([field]) => (field ? [[line(field), field] as const] : [])));
}

/** The fields of several endpoints; a long list that comes again counts once. */
function fieldsOf(items: readonly Item[]): Parameter[] {
  const lists = items.flatMap((item) => {
    const operations = METHODS.flatMap((method) => item[method] ?? []);
    const inPath = (item.parameters ?? []).filter(({ description = "" }) => !OBVIOUS.test(description));
    return [inPath, ...operations.map((one) => [...(one.parameters ?? []), ...bodyFields(one)])];
  });
  const byText = Map.groupBy(lists, (fields) => fields.map(line).join("\n"));
  return [...byText.values()].flatMap((same) => ((same[0]?.length ?? 0) < LONG ? same.flat() : (same[0] ?? [])));
}

/** Writes the entries of the page. It remembers long lists of fields, to point to them when they come again. */
class Page {
  private readonly longLists: { readonly operation: string; readonly fields: readonly Parameter[] }[] = [];

  readonly common: ReadonlyMap<string, Parameter>;

  /** @param common The fields that the end of the page describes, by their lines. */
  constructor(common: ReadonlyMap<string, Parameter>) {
    this.common = common;
  }

  /** What stands below the title of an endpoint, with what it needs at the end of the title. */
  itemText(path: string, item: Item): string {
    const notes = [
      ...(item["x-vault-sudo"] ? ["needs `sudo`"] : []),
      ...(item["x-vault-unauthenticated"] ? ["needs no token"] : []),
    ];
    const inPath = (item.parameters ?? []).filter(
      (field) => !this.common.has(line(field)) && !OBVIOUS.test(field.description ?? ""),
    );
    const operations = METHODS.flatMap((method) => {
      const operation = item[method];
      const name = method.toUpperCase();
      return operation ? [{ name, text: this.operationText(`${name} ${path}`, operation) }] : [];
    });
    const byText = Map.groupBy(operations, ({ text }) => text);
    const texts = [...byText].map(([text, same]) => `**${same.map(({ name }) => name).join(", ")}${text}`);
    const parts = [...(inPath.length > 0 ? [fieldLines(inPath)] : []), ...texts];
    return `${notes.length > 0 ? ` (${notes.join(", ")})` : ""}\n\n${parts.join("\n\n")}`;
  }

  /** The text after the method, from the end of its emphasis on. */
  private operationText(name: string, operation: Operation): string {
    const statuses = Object.keys(operation.responses).filter((status) => status.startsWith("2"));
    const about = [...new Set([operation.summary, ...(operation.description ?? "").split(/(?<=\.) /)])]
      .join(" ")
      .trim();
    const parameters = operation.parameters ?? [];
    const isList = parameters.some((field) => field.name === "list");
    const fields = [...parameters.filter((field) => !PAGING.includes(field.name)), ...bodyFields(operation)];
    const unusual = statuses.filter((one) => !USUAL.includes(one));
    const status = unusual.length === 0 ? "" : ` ${statuses.join(" or ")}.`;
    const text = this.fieldList(name, fields);
    const isPlain = text === "" && status === "" && PLAIN.test(about);
    if (isPlain) return isList ? " `list`**" : "**";
    return `${isList ? " `list`" : ""}** ${about}${status}${text === "" ? "" : `\n\n${text}`}`;
  }

  /** First the names of common fields, then the others; a long list is written once. */
  private fieldList(operation: string, fields: readonly Parameter[]): string {
    if (fields.length < LONG) return this.lines(fields);
    const lines = new Set(fields.map(line));
    for (const earlier of this.longLists) {
      const lacking = earlier.fields.filter((field) => !lines.has(line(field)));
      const shared = earlier.fields.length - lacking.length;
      const isSame = lacking.length === 0 && shared === fields.length;
      if (!isSame && (shared < ALIKE.shared || lacking.length > ALIKE.lacking)) continue;
      const known = new Set(earlier.fields.map(line));
      const without = lacking.map(({ name }) => `\`${name}\``).join(", ");
      const more = this.lines(fields.filter((field) => !known.has(line(field))));
      const pointer = `- The fields of \`${earlier.operation}\`${without === "" ? "" : `, without ${without}`}`;
      return more === "" ? pointer : `${pointer}\n${more}`;
    }
    this.longLists.push({ operation, fields });
    return this.lines(fields);
  }

  private lines(fields: readonly Parameter[]): string {
    const names = fields.filter((field) => this.common.has(line(field))).map(({ name }) => `\`${name}\``);
    const others = fieldLines(fields.filter((field) => !this.common.has(line(field))));
    return [...(names.length > 0 ? [`- ${names.join(", ")}`] : []), ...(others === "" ? [] : [others])].join("\n");
  }
}

/** A line for the fields that have one type and one description. */
function fieldLines(fields: readonly Parameter[]): string {
  return [...Map.groupBy(fields, meaning)]
    .map(([text, same]) => `- ${same.map(({ name }) => `\`${name}\``).join(", ")}${text}`)
    .join("\n");
}

function line(field: Parameter): string {
  return `- \`${field.name}\`${meaning(field)}`;
}

function meaning({ description = "", schema }: Parameter): string {
  const type = [typeText(schema), ...(schema.deprecated ? ["deprecated"] : [])].join(", ");
  return `${type === "string" || INERT.test(description) ? "" : ` (${type})`}: ${description}`;
}

function bodyFields({ requestBody }: Operation): Parameter[] {
  const [content] = Object.values(requestBody?.content ?? {});
  const schema = content?.schema;
  const attributes = schema?.properties?.data?.properties?.attributes ?? schema;
  return Object.entries(attributes?.properties ?? {}).map(([name, field]) => ({
    name,
    schema: field,
    ...(field.description !== undefined && { description: field.description }),
  }));
}

function typeText({ type = "any", format, items, nullable }: Schema): string {
  const listed = type === "array" ? typeText(items ?? {}) : "";
  const named = listed === "" ? (format ?? type) : listed === "string" ? "list" : `list of ${listed}`;
  return nullable ? `${named} or null` : named;
}
