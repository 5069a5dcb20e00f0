import { err, ok, type Result, refuse } from "../base/result.ts";
import { Field, type FieldKind, isObject } from "./fields.ts";
import { isList } from "./view.ts";

/** The fields of one endpoint. `F` is the type of their values. */
export interface FieldSchema<F> {
  readonly shape: { readonly [Name in keyof F]: Field<F[Name]> };
  readonly entries: readonly (readonly [name: string, field: Field<unknown>])[];
  /** Handling of fields with other names. "bounds refused": only names of bounds are refused. */
  readonly others: "ignored" | "bounds refused" | "refused" | "kept";
  /** The values when no field is sent, without undefined ones. */
  readonly absent: Readonly<Record<string, unknown>>;
  readonly required: ReadonlySet<string>;
  /** Names of fields of which a null is a value. */
  readonly nullable: ReadonlySet<string>;
  /** The empty values of lists and maps. A null of any other field means that the field is absent. */
  readonly empty: Readonly<Record<string, unknown>>;
}

/** The type of the values of a schema, or of fields by name. */
export type Values<S> =
  S extends FieldSchema<infer F> ? F : { readonly [Name in keyof S]: S[Name] extends Field<infer T> ? T : never };

/** A schema that ignores fields with other names, unless `others` says otherwise. */
export function fieldSchema<F>(
  shape: FieldSchema<F>["shape"],
  others: FieldSchema<F>["others"] = "ignored",
): FieldSchema<F> {
  const entries = Object.entries<Field<unknown>>(shape);
  const required = new Set<string>();
  const absent: Record<string, unknown> = {};
  for (const [name, field] of entries) {
    const value = field.read(undefined);
    if (!value.ok) required.add(name);
    else if (value.value !== undefined) absent[name] = value.value;
  }
  const nullable = new Set(entries.flatMap(([name, { kind }]) => (isNullable(kind) ? [name] : [])));
  const empty = Object.fromEntries(
    entries.flatMap(([name, { kind }]) => {
      const value = emptyOf(kind);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return { shape, entries, others, absent, required, nullable, empty };
}

function isNullable({ shape }: FieldKind): boolean {
  return typeof shape === "string" && shape.endsWith(" | null");
}

function emptyOf({ shape }: FieldKind): unknown {
  if (isList(shape)) return [];
  return typeof shape === "object" && "*" in shape ? {} : undefined;
}

/** A schema that refuses other names: an ignored field of a filter would make the filter match more. */
export function strictSchema<F>(shape: FieldSchema<F>["shape"]): FieldSchema<F> {
  return fieldSchema(shape, "refused");
}

/**
 * The schema of a role. Unknown fields are ignored, except those named like a bound (`bound_claim`,
 * `token_bound_cidr`): an ignored bound would admit more clients.
 */
export function roleSchema<F>(shape: FieldSchema<F>["shape"]): FieldSchema<F> {
  return fieldSchema(shape, "bounds refused");
}

export const NO_FIELDS = fieldSchema({});

export const ANY_FIELDS: FieldSchema<Record<string, unknown>> = fieldSchema({}, "kept");

/**
 * Returns the fields without null values, which mean absent fields: clients write null for what they do not set. Fields
 * that the schema does not define are treated alike, unless it refuses them. A list or a map that is null is empty: a
 * program in Go, such as Terraform, sends null to take the last item away.
 *
 * @param clientName the name that clients use for a field of the schema.
 */
export function withoutNulls(
  { shape, others, nullable, empty }: Pick<FieldSchema<unknown>, "shape" | "others" | "nullable" | "empty">,
  data: Readonly<Record<string, unknown>>,
  clientName = (name: string): string => name,
): Readonly<Record<string, unknown>> {
  if (others === "kept" || !Object.values(data).includes(null)) return data;
  const names = new Map(Object.keys(shape).map((name) => [clientName(name), name]));
  return Object.fromEntries(
    Object.entries(data).flatMap(([sentName, value]) => {
      const name = names.get(sentName);
      const stays = name === undefined ? others === "refused" : nullable.has(name);
      if (value !== null || stays) return [[sentName, value]];
      return name !== undefined && Object.hasOwn(empty, name) ? [[sentName, empty[name]]] : [];
    }),
  );
}

/** Reads the values of a schema, or its first problem. Absent optional fields are not read: most requests send few. */
export function readValues<F>(
  schema: FieldSchema<F>,
  sentData: Readonly<Record<string, unknown>>,
): Result<F, { readonly name: string; readonly message: string }> {
  const data = withoutNulls(schema, sentData);
  const values: Record<string, unknown> = { ...(schema.others === "kept" ? data : schema.absent) };
  for (const [name, { read }] of schema.entries) {
    const isSent = Object.hasOwn(data, name);
    if (!isSent && !schema.required.has(name)) continue;
    const value = read(isSent ? data[name] : undefined);
    if (!value.ok) return err({ name, message: value.error });
    if (value.value !== undefined) values[name] = value.value;
  }
  return ok(values as F);
}

export interface SentNames {
  readonly unknown: readonly string[];
  readonly known: readonly string[];
}

/** Reads the fields of an endpoint from a body or query. For `unreadNames` see `GroveRequest`. */
export function readFields<F>(
  schema: FieldSchema<F>,
  sentData: Readonly<Record<string, unknown>>,
  unreadNames: readonly string[] = [],
): Result<SentNames & { readonly values: F }> {
  const data = withoutNulls(schema, sentData);
  const names = schema.others === "kept" ? [] : Object.keys(data).sort();
  const known = names.filter((name) => Object.hasOwn(schema.shape, name));
  const unknown = known.length === names.length ? [] : names.filter((name) => !known.includes(name));
  const refused = refusedNames(schema, unknown, unreadNames);
  if (refused.length > 0) return err({ code: "unknown_fields", names: refused });
  const read = readValues(schema, data);
  if (read.ok) return ok({ values: read.value, unknown, known });
  const { name, message } = read.error;
  return refuse(`Field validation failed: error converting input for field "${name}": ${message}`);
}

function refusedNames({ others }: FieldSchema<unknown>, unknown: readonly string[], unreadNames: readonly string[]) {
  if (others === "refused") return [...unknown, ...unreadNames];
  return others === "bounds refused" ? unknown.filter((name) => /(^|_)bound_/.test(name)) : [];
}

/** An object with its own schema; empty when absent. */
export function objectOf<F>(schema: FieldSchema<F>): Field<F> {
  return new Field({ shape: "object" }, (object = {}) => {
    if (!isObject(object)) return err("expected an object");
    const read = readValues(schema, object);
    return read.ok ? read : err(read.error.message);
  });
}
