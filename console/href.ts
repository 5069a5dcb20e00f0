/** The base path of the console. */
export const BASE = "/ui/";

export type Parameters = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * A query with its question mark; "" without parameters. Empty values are left out; each line of a value becomes a
 * parameter.
 */
export function queryOf(parameters: Parameters): string {
  const words = Object.entries(parameters).flatMap(([name, value = ""]) =>
    String(value)
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => [name, line]),
  );
  return words.length === 0 ? "" : `?${new URLSearchParams(words)}`;
}

/** The address of a page; parts are encoded. */
export const href = (parts: readonly string[], parameters: Parameters = {}): string =>
  BASE + parts.map(encodeURIComponent).join("/") + queryOf(parameters);

/** A path with each part encoded, since names can contain slashes and spaces. */
export const pathOf = (...parts: readonly string[]): string => parts.map(encodeURIComponent).join("/");

/** Paths of the Terraform interface. */
export const TEAMS_BASE = /^\/api\/v2\//;

/** The path of a call as policies name it. */
export const policyPathOf = (path: string): string => decodeURIComponent(path.replace(TEAMS_BASE, ""));

/** The values of a form that become part of a URL: in the path of its request, or in the page of the record. */
export const addressedValues = (path: string, values: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(values).flatMap(([name, value]) =>
    typeof value === "string" && value !== "" && (name === "name" || policyPathOf(path).includes(value)) ? [value] : [],
  );
