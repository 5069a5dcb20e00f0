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
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, unknown>>;
}
interface Item extends Readonly<Partial<Record<(typeof METHODS)[number], Operation>>> {
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

/** Number of fields from which on a list is written once. */
const LONG = 3;
/** Two lists are alike when they share so many fields and the second lacks at most so many of the first. */
const ALIKE = { shared: 4, lacking: 1 };
/** Statuses that the top of the page names for all requests. */
const USUAL = ["200", "204"];
/** Every list has these two; the top of the page says it. */
const PAGING = ["list", "after", "limit"];
/** Descriptions of fields that have no effect of their own. */
const INERT = /^(Without effect|Ignored|Not used|Not supported|Stored and shown)/;
/** A description that begins with the values that the field takes. */
const VALUES = /^(`[^`]+`(?:(?:, or|,| or) `[^`]+`)+)(?=$|:[^`]*$)/;
/** The text of a list that has one field, besides older names. */
const ONE_FIELD = /^(?:[a-z]+: )?`[a-z_]+`(?:; older: `[a-z_]+`)?$/;
/** The verbs of summaries that a method stands for, as the top of the page says. */
const VERBS: Readonly<Record<string, string>> = {
  GET: "Shows|Lists",
  POST: "Creates or changes|Creates(?! or)|Changes|Sets",
  PATCH: "Changes",
  DELETE: "Deletes|Resets",
};
/** What is left of a summary that says no more than method and path do. */
const PLAIN = /^( [\w'-]+){1,5}\.$/;
/** A mount of this type has the endpoints of `aws`, with other words in some names of fields. */
const SAME_METHOD = "/auth/cloud/";

/** The page of the API: a line for each path of an OpenAPI document, with the names and types of its fields. */
export function apiPage({ paths }: ShownDocument): string {
  const items = (Object.entries(paths) as [string, Item][]).filter(([path]) => !path.startsWith(SAME_METHOD));
  const page = new Page();
  const entries = items.map(([path, item]) => {
    const [first] = METHODS.flatMap((method) => item[method] ?? []);
    return { path, tag: first?.tags[0] ?? "", text: page.itemText(path, item) };
  });
  const sections = [...Map.groupBy(entries, ({ tag }) => tag)].map(([tag, ofTag]) => {
    const lines = [...Map.groupBy(ofTag, ({ text }) => text)].map(
      ([text, same]) => `- ${same.map(({ path }) => `\`${path}\``).join(", ")}${text}`,
    );
    return `## ${TITLES[tag] ?? tag}\n\n${lines.join("\n")}`;
  });
  return wrapped(`# API

Every endpoint with the names and types of its fields, written by \`npm run docs:api\` from the table of routes. What each field means and how every answer looks: \`GET sys/internal/specs/openapi\`, or for one path \`bao path-help PATH\` (\`GET PATH?help=1\`). Examples: [tour.md](tour.md). Differences from the reference: [compatibility.md](compatibility.md).

- A request answers 200, or 204 without a body, unless the line says another status.
- Where no verb is written, a GET shows what is named, with \`list\` it lists it, a POST or PATCH creates or changes it, and a DELETE deletes it or resets it.
- A GET with \`list\` may also be sent as LIST. Every list takes \`after\` and \`limit\`.
- Fields are in parentheses; after several verbs they are those of the POST. They are strings, unless the type stands before them; lists have strings. *Seconds* and *duration* take 90, \`30s\` or \`1h30m\`, *kvpairs* an object of strings. *Older*: older names, which still work.
- *sudo*: the caller needs that capability; *no token*: no token is needed.
- Auth methods are at the path of their name. A mount of type \`cloud\` has the endpoints of \`aws\`; the names of its fields have \`cloud\`, \`vm\` and \`image\` for \`aws\`, \`ec2\` and \`ami\`.

${sections.join("\n\n")}
`);
}

/** Writes the lines of the page. It remembers long lists of fields, to point to them when they come again. */
class Page {
  private readonly longLists: { readonly operation: string; readonly fields: readonly Parameter[] }[] = [];

  /** What stands behind the path of an endpoint. */
  itemText(path: string, item: Item): string {
    const notes = [...(item["x-vault-sudo"] ? ["sudo"] : []), ...(item["x-vault-unauthenticated"] ? ["no token"] : [])];
    const operations = METHODS.flatMap((method) => {
      const operation = item[method];
      return operation ? [this.shown(method.toUpperCase(), path, operation)] : [];
    });
    const texts = merged(operations).map(({ names, about, fields }) => {
      const sentence = `**${names}**${about === "" ? "" : ` ${about.replace(/\.$/, "")}`}`;
      return fields === "" ? sentence : `${sentence} (${fields})`;
    });
    return `${notes.length > 0 ? ` (${notes.join(", ")})` : ""}: ${texts.join(". ")}`;
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

  /** The fields of an operation; a long list is written once. */
  private fieldList(operation: string, fields: readonly Parameter[]): string {
    if (fields.length < LONG) return fieldsText(fields);
    const known = (list: readonly Parameter[]) => new Set(list.map(keyOf));
    const own = known(fields);
    const pointers = this.longLists.flatMap((earlier) => {
      const lacking = earlier.fields.filter((field) => !own.has(keyOf(field)));
      const shared = earlier.fields.length - lacking.length;
      const isSame = lacking.length === 0 && shared === fields.length;
      if (!isSame && (shared < ALIKE.shared || lacking.length > ALIKE.lacking)) return [];
      const before = known(earlier.fields);
      const without = lacking.length === 0 ? "" : ` without ${lacking.map(({ name }) => `\`${name}\``).join(", ")}`;
      const more = fieldsText(fields.filter((field) => !before.has(keyOf(field))));
      const text = `those of \`${earlier.operation}\`${without}${more === "" ? "" : `; ${more}`}`;
      return [{ text, shared: shared - lacking.length }];
    });
    const [nearest] = pointers.sort((a, b) => b.shared - a.shared);
    this.longLists.push({ operation, fields });
    return nearest?.text ?? fieldsText(fields);
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
  const fields = operations.find((one) => one.fields !== "")?.fields ?? "";
  // A field that can be shown, set and reset says by its name what it is.
  const isItsField = operations.length > 2 && ONE_FIELD.test(fields);
  return {
    names: operations.map(({ names }) => names).join(", "),
    about: isItsField ? "" : text.slice(0, 1).toUpperCase() + text.slice(1),
    subject: null,
    fields,
  };
}

/** The names of fields by their types. */
function fieldsText(fields: readonly Parameter[]): string {
  const byKind = Map.groupBy(fields, kindOf);
  const strings = byKind.get("string") ?? [];
  const others = [...byKind].filter(([kind]) => kind !== "string").sort(([a], [b]) => rank(a) - rank(b));
  const texts = others.map(([kind, same]) => `${kind}: ${namesOf(same)}`);
  return [...(strings.length > 0 ? [namesOf(strings)] : []), ...texts].join("; ");
}

/** How a field is listed: by its type, or as one that changes nothing or that has a newer name. */
function kindOf({ description = "", schema }: Parameter): string {
  if (INERT.test(description)) return "without effect";
  if (description === "Refused") return "refused";
  return schema.deprecated ? "older" : typeText(schema);
}

function rank(kind: string): number {
  return ["older", "without effect", "refused"].indexOf(kind);
}

function namesOf(fields: readonly Parameter[]): string {
  return fields
    .map(({ name, description = "" }) => {
      const [, values] = VALUES.exec(description) ?? [];
      return values === undefined ? `\`${name}\`` : `\`${name}\` = ${values}`;
    })
    .join(", ");
}

function keyOf(field: Parameter): string {
  return `${kindOf(field)} ${namesOf([field])}`;
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
