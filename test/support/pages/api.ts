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
/** The verbs of summaries that a method stands for, as the top of the page says. */
const VERBS: Readonly<Record<string, string>> = {
  GET: "Shows|Lists",
  POST: "Creates or changes|Creates(?! or)|Changes|Sets",
  PATCH: "Changes",
  DELETE: "Deletes|Resets",
};
/** What is left of a summary that says no more than method and path do. */
const PLAIN = /^( [\w'-]+){1,5}\.$/;
/** Words that add nothing to the name of a field. */
const FILLERS = new Set(["a", "an", "the", "its", "of", "that", "this", "these"]);
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

Every endpoint with its fields, written by \`npm run docs:api\` from the table of routes. \`sys/internal/specs/openapi\` answers the same for programs. Differences from the reference: [compatibility.md](compatibility.md).

- A request answers 200, or 204 without a body, unless the page says another status.
- Where no verb is written, a GET shows what is named, with \`list\` it lists it, a POST or PATCH creates or changes it, and a DELETE deletes it or resets it.
- A GET with \`list\` may also be sent as LIST. Every list takes \`after\` and \`limit\`.
- Fields are in parentheses or in a list; below several verbs they are those of the POST. A field is a string, and a list has strings, unless the page says another type (not of fields without effect). Fields without a description are [described once](#fields-of-several-endpoints), or their names say what they are.
- *sudo*: the caller needs that capability; *no token*: no token is needed.
- Auth methods are at the path of their name. A mount of type \`cloud\` has the endpoints of \`aws\`; the names of its fields have \`cloud\`, \`vm\` and \`image\` for \`aws\`, \`ec2\` and \`ami\`.

${sections.join("\n\n")}

## Fields of several endpoints

${fieldLines([...page.common.values()].filter((field) => line(field) !== `- \`${field.name}\``).sort((a, b) => (a.name < b.name ? -1 : 1)))}
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
  private readonly described: ReadonlySet<string>;

  /** @param common The fields that the end of the page describes, by their lines. */
  constructor(common: ReadonlyMap<string, Parameter>) {
    this.common = common;
    this.described = new Set([...common.values()].map(({ name }) => name));
  }

  /** What stands below the title of an endpoint, with what it needs at the end of the title. */
  itemText(path: string, item: Item): string {
    const notes = [...(item["x-vault-sudo"] ? ["sudo"] : []), ...(item["x-vault-unauthenticated"] ? ["no token"] : [])];
    const inPath = (item.parameters ?? []).filter(
      (field) => !this.common.has(line(field)) && !OBVIOUS.test(field.description ?? "") && !isObvious(field),
    );
    const operations = METHODS.flatMap((method) => {
      const operation = item[method];
      return operation ? [this.shown(method.toUpperCase(), path, operation)] : [];
    });
    const texts = merged(operations).map(({ names, about, fields }) => {
      const isInline = fields !== "" && !fields.includes("\n") && /^- (The fields|`[^:]*$)/.test(fields);
      const sentence = about === "" ? "" : ` ${about}`;
      if (isInline)
        return `**${names}**${sentence.replace(/\.$/, "")} (${fields.replace(/^- The/, "the").replace(/^- /, "")})`;
      return `**${names}**${sentence}${fields === "" ? "" : `\n\n${fields}`}`;
    });
    const parts = [...(inPath.length > 0 ? [fieldLines(inPath)] : []), ...texts];
    return `${notes.length > 0 ? ` (${notes.join(", ")})` : ""}\n\n${parts.join("\n\n")}`;
  }

  private shown(method: string, path: string, operation: Operation): Shown {
    const statuses = Object.keys(operation.responses).filter((status) => status.startsWith("2"));
    const about = [...new Set([operation.summary, ...(operation.description ?? "").split(/(?<=\.) /)])]
      .join(" ")
      .trim();
    const parameters = operation.parameters ?? [];
    const isList = parameters.some((field) => field.name === "list");
    const fields = [...parameters.filter((field) => !PAGING.includes(field.name)), ...bodyFields(operation)];
    const unusual = statuses.filter((one) => !USUAL.includes(one));
    const text = this.fieldList(`${method} ${path}`, fields);
    const names = isList ? `${method} \`list\`` : method;
    const withoutVerb = about.replace(new RegExp(`^(?:${VERBS[method]})(?= )`), "");
    if (unusual.length > 0) return { names, about: `${about} ${unusual.join(" or ")}.`, subject: null, fields: text };
    if (withoutVerb !== about && PLAIN.test(withoutVerb)) return { names, about, subject: "", fields: text };
    const isOneThing = withoutVerb !== about && /^[^.;]+\.$/.test(withoutVerb);
    return { names, about, subject: isOneThing ? withoutVerb.trim() : null, fields: text };
  }

  /** First the names of common fields, then the others; a long list is written once. */
  private fieldList(operation: string, fields: readonly Parameter[]): string {
    if (fields.length < LONG) return this.lines(fields);
    const lines = new Set(fields.map(line));
    const pointers = this.longLists.flatMap((earlier) => {
      const lacking = earlier.fields.filter((field) => !lines.has(line(field)));
      const shared = earlier.fields.length - lacking.length;
      const isSame = lacking.length === 0 && shared === fields.length;
      if (!isSame && (shared < ALIKE.shared || lacking.length > ALIKE.lacking)) return [];
      const known = new Set(earlier.fields.map(line));
      const without = lacking.map(({ name }) => `\`${name}\``).join(", ");
      const more = this.lines(fields.filter((field) => !known.has(line(field))));
      const pointer = `- The fields of \`${earlier.operation}\`${without === "" ? "" : ` without ${without}`}`;
      return [{ text: more === "" ? pointer : `${pointer}\n${more}`, shared: shared - lacking.length }];
    });
    const [nearest] = pointers.sort((a, b) => b.shared - a.shared);
    this.longLists.push({ operation, fields });
    return nearest?.text ?? this.lines(fields);
  }

  private lines(fields: readonly Parameter[]): string {
    const isBare = (field: Parameter) => this.common.has(line(field)) || line(field) === `- \`${field.name}\``;
    // A name alone would be taken for the field that the end of the page describes.
    const isOther = (field: Parameter) =>
      isObvious(field) && this.described.has(field.name) && !this.common.has(line(field));
    const names = fields.filter((field) => isBare(field) && !isOther(field)).map(({ name }) => `\`${name}\``);
    const others = [
      fieldLines(fields.filter((field) => !isBare(field) && !isOther(field))),
      ...fields.filter(isOther).map((field) => `${line(field)}: ${field.description ?? ""}`),
    ]
      .filter((text) => text !== "")
      .join("\n");
    return [...(names.length > 0 ? [`- ${names.join(", ")}`] : []), ...(others === "" ? [] : [others])].join("\n");
  }
}

/** What the page says of an operation. */
interface Shown {
  readonly names: string;
  readonly about: string;
  /** What the operation is about, if its verb is that of the method. */
  readonly subject: string | null;
  readonly fields: string;
}

/** Writes operations once that say the same, or that only show, set and reset one thing. */
function merged(operations: readonly Shown[]): Shown[] {
  const unlikeVerb = new Set(operations.filter(({ subject }) => subject === null).map(({ about }) => about));
  const textOf = ({ subject, about }: Shown) => (subject === null || unlikeVerb.has(about) ? about : subject);
  return [...Map.groupBy(operations, textOf)].flatMap(([subject, same]) => {
    const fields = new Set(same.map((one) => one.fields));
    const withFields = same.filter((one) => one.fields !== "");
    // Where only the POST has fields, one list says enough.
    const isOne = fields.size === 1 || (withFields.length === 1 && withFields[0]?.names === "POST");
    if (same.length > 1 && isOne) return [together(same, subject)];
    const shownOf = ({ about }: Shown) => (subject === "" ? "" : about);
    return [...Map.groupBy(same, (one) => `${shownOf(one)}\n${one.fields}`).values()].map((alike) =>
      together(alike, alike[0] ? shownOf(alike[0]) : ""),
    );
  });
}

function together(operations: readonly Shown[], text: string): Shown {
  return {
    names: operations.map(({ names }) => names).join(", "),
    about: text.slice(0, 1).toUpperCase() + text.slice(1),
    subject: null,
    fields: operations.find(({ fields }) => fields !== "")?.fields ?? "",
  };
}

/** Whether the description of a field has no word that its name lacks. */
function isObvious({ name, description = "" }: Parameter): boolean {
  const inName = new Set(name.toLowerCase().split(/[^a-z]+/));
  const words =
    description
      .toLowerCase()
      .replaceAll("-", " ")
      .match(/[a-z]+|[^a-z\s.]/g) ?? [];
  return words.every((word) => FILLERS.has(word) || inName.has(word) || inName.has(word.replace(/s$/, "")));
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

function meaning(field: Parameter): string {
  const { description = "", schema } = field;
  const type = [typeText(schema), ...(schema.deprecated ? ["deprecated"] : [])].join(", ");
  const shown = type === "string" || INERT.test(description) ? "" : ` (${type})`;
  return isObvious(field) ? shown : `${shown}: ${description}`;
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
