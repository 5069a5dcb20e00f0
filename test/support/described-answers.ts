import { openApiOfUsualMounts } from "./open-api.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}
interface Described {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described | undefined>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Kept from file to file of an isolate: all of them have the same sources. */
const kept = globalThis as { groveDescriptions?: Document };
kept.groveDescriptions ??= openApiOfUsualMounts<Document>();
const DOCUMENT = kept.groveDescriptions;
const METHODS: Readonly<Record<string, string>> = { LIST: "get", PUT: "post" };
/** Those that are fixed the furthest come first, as they are served first. */
const PATHS = Object.keys(DOCUMENT.paths)
  .sort((a, b) => fixedLength(b) - fixedLength(a) || b.length - a.length)
  .map((path) => ({ path, pattern: new RegExp(`^${path.replace(/[.+*]/g, "\\$&").replace(/\{\w+\}/g, ".+")}/?$`) }));

function fixedLength(path: string): number {
  return path.includes("{") ? path.indexOf("{") : Number.MAX_SAFE_INTEGER;
}

/** The operation of a request and the path by which the document describes it; null where it is not described by path. */
function operationAt(method: string, path: string) {
  const plain = decodeURIComponent(`/${path.split("?", 1)[0]}`);
  const found = PATHS.find(({ pattern }) => pattern.test(plain));
  const operation = found && DOCUMENT.paths[found.path]?.[METHODS[method] ?? method.toLowerCase()];
  return operation ? { path: found.path, operation } : null;
}

/** The statuses of success that the document has for a request; null where it is not described by path. */
export function describedSuccess(method: string, path: string): readonly string[] | null {
  const found = operationAt(method, path);
  return found && Object.keys(found.operation.responses).filter((status) => status.startsWith("2"));
}

/** What an answer that succeeded has or lacks against the OpenAPI document; null when it is as described, or not described by path. */
export function differenceFromDescription(method: string, path: string, status: number, body: unknown): string | null {
  if (status >= 300 || /[?&]help=/.test(path)) return null;
  const found = operationAt(method, path);
  if (!found) return null;
  const response = found.operation.responses[String(status)];
  const place = `${method} ${found.path} ${status}`;
  // Any answer with a body can be asked for wrapped.
  if (isObject(body) && isObject(body.wrap_info)) return null;
  // The client chooses the statuses of this one.
  if (!response && found.path === "/sys/health") return null;
  if (!response) return `${place} is not described`;
  const [content] = Object.values(response.content ?? {});
  if (!content) return body === null ? null : `${place} has a body`;
  const problem = problemOf(content.schema, body, "body");
  return problem && `${place}: ${problem}`;
}

/** @param whole false for a part of a description, which the others complete. */
function problemOf(schema: Schema, value: unknown, at: string, whole = true): string | null {
  if (schema.$ref) {
    return problemOf(DOCUMENT.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, value, at, whole);
  }
  for (const part of schema.allOf ?? []) {
    const problem = problemOf(part, value, at, false);
    if (problem) return problem;
  }
  if (schema.anyOf) {
    const problems = schema.anyOf.map((part) => problemOf(part, value, at));
    if (!problems.includes(null)) return problems.join("; or ");
  }
  if (value === null) return schema.nullable || schema.type === undefined ? null : `${at} is null`;
  if (schema.type !== undefined && !isOfType(schema.type, value)) return `${at} is not of the type ${schema.type}`;
  if (Array.isArray(value)) {
    return (
      value.map((item) => problemOf(schema.items ?? {}, item, `${at}[]`)).find((problem) => problem !== null) ?? null
    );
  }
  return isObject(value) ? problemOfObject(schema, value, at, whole) : null;
}

function problemOfObject(schema: Schema, value: Record<string, unknown>, at: string, whole: boolean): string | null {
  const missing = (schema.required ?? []).find((name) => !(name in value));
  if (missing !== undefined) return `${at}.${missing} is missing`;
  for (const [name, item] of Object.entries(value)) {
    const { additionalProperties: others, properties } = schema;
    if (whole && properties && !others && !(name in properties)) return `${at}.${name} is not described`;
    const part = schema.properties?.[name] ?? (typeof others === "object" ? others : {});
    const problem = problemOf(part, item, `${at}.${name}`);
    if (problem) return problem;
  }
  return null;
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return typeof value === type;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
