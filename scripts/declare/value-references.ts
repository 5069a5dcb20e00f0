import type { Result } from "../../src/base/result.ts";
import { repeatedIn, type SyntaxObject, type SyntaxValue } from "../../src/policy/syntax.ts";

/** A JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Where a value comes from that is not in the file itself: `from` names it for people. */
export interface Source {
  readonly kind: "env" | "file";
  readonly from: string;
}

/** Reads the values that are not in the file. The errors are for the operator and never contain a value. */
export interface Sources {
  environment(name: string, required: boolean): Result<string, string>;
  file(path: string): Result<string, string>;
}

/** Reads values of fields. Mistakes are reported with their offset; a wrong value reads as null. */
export class ValueReader {
  readonly #sources: Sources;
  readonly #problem: (message: string, at: number) => void;
  /** Sources of the values read so far that are not in the file itself. */
  readonly origins: Source[] = [];

  constructor(sources: Sources, problem: (message: string, at: number) => void) {
    this.#sources = sources;
    this.#problem = problem;
  }

  /** The value that a text in the file stands for. */
  read(value: SyntaxValue): Json {
    switch (value.kind) {
      case "null":
        return null;
      case "list":
        return value.items.map((item) => this.read(item));
      case "object":
        return isSource(value) ? this.#source(value) : this.#object(value);
      default:
        return value.value;
    }
  }

  #object({ entries }: SyntaxObject): Json {
    for (const { key, at } of repeatedIn(entries)) this.#problem(`${JSON.stringify(key)} is set twice`, at);
    return Object.fromEntries(entries.map(({ key, value }) => [key, this.read(value)]));
  }

  /** The reference's form: `{ eval_type = "string"  eval_source = "env"  env_var = "NAME" }`. */
  #source(object: SyntaxObject): Json {
    const fields = new Map(object.entries.map((entry) => [entry.key, entry]));
    const problem = (message: string, name = "eval_source"): null => {
      this.#problem(message, fields.get(name)?.at ?? object.at);
      return null;
    };
    const text = (name: string): string | null => {
      const value = fields.get(name)?.value;
      return value?.kind === "string" && value.value !== "" ? value.value : null;
    };
    if (fields.size < object.entries.length) return problem("a value from elsewhere has a field twice");
    const source = text("eval_source");
    const own = source === null ? undefined : SOURCE_FIELDS[source];
    if (own === undefined) {
      return problem(
        `eval_source must be "env" or "file"; values from requests, answers and templates are not supported`,
      );
    }
    const stray = object.entries.find(({ key }) => !["eval_source", "eval_type", ...own].includes(key));
    if (stray) return problem(`a value from ${source} has no ${JSON.stringify(stray.key.slice(0, 64))}`, stray.key);
    if (text("eval_type") !== "string") return problem('eval_type must be "string"', "eval_type");
    const name = text(own[0]);
    if (name === null) return problem(`a value from ${source} needs ${own[0]}`);
    const required = fields.get("require_present")?.value;
    if (required && required.kind !== "bool")
      return problem("require_present must be true or false", "require_present");
    const found =
      source === "file"
        ? this.#sources.file(name)
        : this.#sources.environment(name, required?.kind !== "bool" || required.value);
    if (!found.ok) return problem(found.error);
    this.origins.push(source === "file" ? { kind: "file", from: name } : { kind: "env", from: name });
    return found.value;
  }
}

/** Further fields of each source, besides `eval_type` and `eval_source`. The first is required. */
const SOURCE_FIELDS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  env: ["env_var", "require_present"],
  file: ["path"],
};

function isSource({ entries }: SyntaxObject): boolean {
  return entries.some(({ key }) => key === "eval_source" || key === "eval_type");
}
