import * as z from "zod";
import { commaList, duration, maybe } from "../../wire/fields.ts";

/**
 * A field that a write may leave out: undefined then, and what is stored stays. A null counts as sent and is read as the
 * field reads it: as its empty value.
 */
export function sent<T>(field: z.ZodType<T, unknown>): z.ZodType<T | undefined, unknown> {
  return z
    .unknown()
    .optional()
    .transform((value, context) => {
      if (value === undefined) return undefined;
      const read = field.safeParse(value);
      if (read.success) return read.data;
      context.addIssue({ code: "custom", message: read.error.issues[0]?.message ?? "invalid" });
      return z.NEVER;
    });
}

/** A list of texts, as an array or with commas between. null and "" are the empty list. */
export function list(): z.ZodType<string[], unknown> {
  return commaList().transform((items) => items ?? []);
}

/** A duration in seconds, undefined when not sent; a null does not count as sent. May be negative: the rules judge that. */
export function sentDuration(): z.ZodType<number | undefined, unknown> {
  return maybe(duration());
}

/** `fields` without those that were not sent. */
export function onlySent<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** A value that may be named back in a message: short and plain, so that no secret and no markup travels with it. */
export function isPlainWord(text: string): boolean {
  return /^[\w-]{0,32}$/.test(text);
}
