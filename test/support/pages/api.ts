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
const SEVERAL = 3;

/** The page of the API: every operation of an OpenAPI document with its fields. */
export function apiPage({ paths }: ShownDocument): string {
  const items = Object.entries(paths) as [string, Item][];
  const common = commonFields(items.flatMap(([, item]) => fieldsOf(item)));
  const byTag = new Map<string, string[]>();
  for (const [path, item] of items) {
    const [first] = METHODS.flatMap((method) => item[method] ?? []);
    const tag = first?.tags[0] ?? "";
    byTag.set(tag, [...(byTag.get(tag) ?? []), pathText(path, item, common)]);
  }
  const sections = [...byTag].map(([tag, texts]) => `## ${TITLES[tag] ?? tag}\n\n${texts.join("\n\n")}`);
  return `# API

Every endpoint, as \`sys/internal/specs/openapi\` describes it for programs: made from the table of routes by \`npm run docs:api\`; a test fails when it is stale. Auth methods
stand at the path that is their name. [compatibility.md](compatibility.md) says where Grove differs from the reference. A GET with \`list=true\` may also be sent as LIST.
Fields without a description are [described once](#fields-of-several-endpoints).

${sections.join("\n\n")}

## Fields of several endpoints

${[...common].sort().join("\n")}
`;
}

/** The most frequent description of each field that several endpoints have. */
function commonFields(fields: readonly Parameter[]): ReadonlySet<string> {
  const most = new Map<string, readonly string[]>();
  for (const same of Map.groupBy(
    fields.map((field) => [field.name, line(field)] as const),
    ([, text]) => text,
  ).values()) {
    const [name = ""] = same[0] ?? [];
    if (same.length >= SEVERAL && same.length > (most.get(name)?.length ?? 0))
      most.set(
        name,
        same.map(([, text]) => text),
      );
  }
  return new Set([...most.values()].flatMap(([text]) => text ?? []));
}

function fieldsOf(item: Item): Parameter[] {
  const operations = METHODS.flatMap((method) => item[method] ?? []);
  return [...(item.parameters ?? []), ...operations.flatMap((one) => [...(one.parameters ?? []), ...bodyFields(one)])];
}

/** The fields as a list: first the names of common ones. */
function fieldList(fields: readonly Parameter[], common: ReadonlySet<string>): string {
  const isCommon = (field: Parameter) => common.has(line(field));
  const names = fields.filter(isCommon).map(({ name }) => `\`${name}\``);
  const others = fields.filter((field) => !isCommon(field)).map(line);
  return [...(names.length > 0 ? [`- ${names.join(", ")}`] : []), ...others].join("\n");
}

function pathText(path: string, item: Item, common: ReadonlySet<string>): string {
  const notes = [
    ...(item["x-vault-sudo"] ? ["needs `sudo`"] : []),
    ...(item["x-vault-unauthenticated"] ? ["needs no token"] : []),
  ];
  const operations = METHODS.flatMap((method) => {
    const operation = item[method];
    return operation ? [operationText(method, operation, common)] : [];
  });
  const parameters = fieldList(item.parameters ?? [], common);
  return [
    `### \`${path}\`${notes.length > 0 ? ` (${notes.join(", ")})` : ""}`,
    ...(parameters === "" ? [] : [parameters]),
    ...operations,
  ].join("\n\n");
}

function operationText(method: string, operation: Operation, common: ReadonlySet<string>): string {
  const statuses = Object.keys(operation.responses).filter((status) => status.startsWith("2"));
  const about = [operation.summary, operation.description ?? ""].join(" ").trim();
  const head = `**${method.toUpperCase()}** ${about} \`${operation.operationId}\`, ${statuses.join(" or ")}`;
  const fields = fieldList([...(operation.parameters ?? []), ...bodyFields(operation)], common);
  return fields === "" ? head : `${head}\n\n${fields}`;
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

function line({ name, description = "", schema }: Parameter): string {
  return `- \`${name}\` (${typeText(schema)}${schema.deprecated ? ", deprecated" : ""}): ${description}`;
}

function typeText({ type = "any", format, items, nullable }: Schema): string {
  const named = type === "array" ? `list of ${typeText(items ?? {})}` : (format ?? type);
  return nullable ? `${named} or null` : named;
}
