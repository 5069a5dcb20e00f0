/** A value that is not an object and not a list; with `| null` where it can be null, `any` for whatever there is. */
type Scalar = "string" | "integer" | "number" | "boolean" | "object" | "any";

/**
 * The shape of a JSON value, as plain data: `"string"`, `["string"]` for a list of strings, `["string", null]` for one that can be null,
 * `{ name: "string" }` for an object.
 * A name that ends in `?` can be absent; the name `*` stands for every name that is not listed.
 */
export type Shape =
  | Scalar
  | `${Scalar} | null`
  | readonly [Shape]
  | readonly [Shape, null]
  | { readonly [name: string]: Shape };
