import { err, ok, type Result } from "../base/result.ts";
import { Field } from "./fields.ts";
import type { Shape } from "./view.ts";

/*
 * Fields of exactly one JSON type, as in documents of JSON:API. They are required unless wrapped in `sent`. A message
 * is a phrase that follows the name of the field.
 */

export function exact<T>(shape: Shape, read: (value: unknown) => Result<T, string>): Field<T> {
  return new Field({ shape }, read);
}

/** A string. @param problemOf returns the problem with a value, or null. */
export function exactString(message: string, problemOf: (text: string) => string | null = () => null): Field<string> {
  return exact("string", (value) => {
    if (typeof value !== "string") return err(message);
    const problem = problemOf(value);
    return problem === null ? ok(value) : err(problem);
  });
}

export function shortString(message: string, max: number): Field<string> {
  return exactString(message, (text) => (text.length > max ? `is too long (at most ${max} characters)` : null));
}

export function exactFlag(): Field<boolean> {
  return exact("boolean", (value) => (typeof value === "boolean" ? ok(value) : err("must be true or false")));
}

export function exactInteger(message: string, min: number, max: number): Field<number> {
  return exact("integer", (value) => {
    if (typeof value !== "number" || !Number.isSafeInteger(value)) return err(message);
    if (value < min) return err(`must be at least ${min}`);
    return value > max ? err(`must be at most ${max}`) : ok(value);
  });
}

export function oneOf<const T extends string>(values: readonly T[], message: string): Field<T> {
  return exact("string", (value) => {
    const found = values.find((candidate) => candidate === value);
    return found === undefined ? err(message) : ok(found);
  });
}

/** The field, or null. */
export function orNull<T>({ kind, read, description }: Field<T>): Field<T | null> {
  const shape = kind.shape === "string" || kind.shape === "integer" ? (`${kind.shape} | null` as const) : kind.shape;
  return new Field<T | null>({ ...kind, shape }, (value) => (value === null ? ok(null) : read(value)), description);
}
