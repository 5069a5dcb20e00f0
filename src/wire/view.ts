/** A scalar value, with `| null` where it can be null; `any` for any value. */
type Scalar = "string" | "integer" | "number" | "boolean" | "object" | "any";

/**
 * The shape of a JSON value, as plain data: `"string"`, `["string"]` for a list of strings, `["string", null]` for a
 * list or null, `{ name: "string" }` for an object. A name that ends in `?` can be absent. The name `*` stands for all
 * other names. `["or null", shape]` can be null, and `["one of", "a", "b"]` is one of these strings.
 */
export type Shape =
  | Scalar
  | `${Scalar} | null`
  | readonly [Shape]
  | readonly [Shape, null]
  | readonly ["or null", Shape]
  | readonly ["one of", ...string[]]
  | { readonly [name: string]: Shape };

/** The same fields, each of which can be absent. */
export function optional(fields: View<never>["shape"]): View<never>["shape"] {
  return Object.fromEntries(Object.entries(fields).map(([name, shape]) => [`${name.replace(/\?$/, "")}?`, shape]));
}

type ShapeOf<Kind> = Extract<Shape, Kind>;

export function isOrNull(shape: Shape): shape is ShapeOf<readonly ["or null", Shape]> {
  return Array.isArray(shape) && shape[0] === "or null";
}

export function isOneOf(shape: Shape): shape is ShapeOf<readonly ["one of", ...string[]]> {
  return Array.isArray(shape) && shape[0] === "one of";
}

export function isList(shape: Shape): shape is readonly [Shape] | readonly [Shape, null] {
  return Array.isArray(shape) && !isOrNull(shape) && !isOneOf(shape);
}

/** A field of an answer: its shape, and how its value is read. An undefined value is left out. */
type ViewField<T> = readonly [shape: Shape, read: (thing: T) => unknown];

/** Fields by name, in the order of the answer. The name of a field that can be left out ends in `?`. */
export type ViewFields<T> = { readonly [name: string]: ViewField<T> };

export interface View<T> {
  readonly shape: { readonly [name: string]: Shape };
  readonly show: (thing: T) => Record<string, unknown>;
}

/** Declares the fields that answers show of a thing. One table gives the answers and their description. */
export function view<T>(fields: ViewFields<T>): View<T> {
  const entries = Object.entries(fields);
  const readers = entries.map(([name, [, read]]) => [name.replace(/\?$/, ""), read] as const);
  return {
    shape: Object.fromEntries(entries.map(([name, [shape]]) => [name, shape])),
    show(thing) {
      const shown: Record<string, unknown> = {};
      for (const [name, read] of readers) {
        const value = read(thing);
        if (value !== undefined) shown[name] = value;
      }
      return shown;
    },
  };
}

/** Returns the fields of a part of a thing, for a view that shows them among its own. */
export function fieldsOf<T, P>(part: (thing: T) => P, fields: ViewFields<P>): ViewFields<T> {
  const entries = Object.entries(fields).map(([name, [shape, read]]): [string, ViewField<T>] => [
    name,
    [shape, (thing) => read(part(thing))],
  ]);
  return Object.fromEntries(entries);
}

/** A field whose value is an object of these fields. */
export function inner<T>(fields: ViewFields<T>): ViewField<T> {
  const { shape, show } = view(fields);
  return [shape, show];
}
