import type { Shape } from "../../wire/shape.ts";

/** A schema of OpenAPI 3.0: that of JSON Schema with `nullable`. */
export interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** The schema of a shape. */
export function schemaOf(shape: Shape): JsonSchema {
  if (typeof shape === "string") return scalarSchema(shape);
  if (isList(shape)) return { type: "array", items: schemaOf(shape[0]), ...(shape.length > 1 && { nullable: true }) };
  const { "*": others, ...named } = shape;
  const names = Object.keys(named);
  const required = names.filter((name) => !name.endsWith("?"));
  return {
    type: "object",
    ...(names.length > 0 && {
      properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ""), schemaOf(named[name] ?? "any")])),
    }),
    ...(required.length > 0 && { required }),
    ...(others && { additionalProperties: schemaOf(others) }),
  };
}

function scalarSchema(shape: string): JsonSchema {
  const [type, nullable] = shape.split(" | ");
  if (type === "any") return {};
  return { type, ...(nullable && { nullable: true }) };
}

/** True for the shape of a list. */
export function isList(shape: Exclude<Shape, string>): shape is readonly [Shape] | readonly [Shape, null] {
  return Array.isArray(shape);
}
