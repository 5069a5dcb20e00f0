import type { SentNames } from "../wire/read-fields.ts";

const NONE: readonly string[] = [];

/** Warns about fields that had no effect: unknown ones, and those that the path gives as well. */
export function fieldWarnings(
  { unknown, known }: SentNames,
  params: Readonly<Record<string, string>>,
): readonly string[] {
  const replaced = known.filter((name) => Object.hasOwn(params, name));
  if (unknown.length === 0 && replaced.length === 0) return NONE;
  return [
    ...(unknown.length > 0 ? [`Endpoint ignored these unrecognized parameters: [${unknown.join(" ")}]`] : []),
    ...(replaced.length > 0
      ? [
          `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${replaced.join(" ")}]`,
        ]
      : []),
  ];
}
