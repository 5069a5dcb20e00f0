interface Options {
  /** Everything is readonly. */
  readonly immutable?: boolean;
  /** Schemas are exported by their names as well. */
  readonly rootTypes?: boolean;
  readonly rootTypesNoSchemaPrefix?: boolean;
  /** The type of an object without fields is unknown, and not that of an empty one. */
  readonly emptyObjectsUnknown?: boolean;
}

/** The source of the types of an OpenAPI document. */
export function typesOf(document: Record<string, unknown>, options?: Options): Promise<string>;
