import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { err, ok, type Result } from "../../src/base/result.ts";
import { codeOf } from "../local/error-code.ts";
import { type Declaration, type DeclaredRequest, MAX_DECLARATION, readDeclaration } from "./declaration.ts";
import type { Sources } from "./value-references.ts";

/** Most bytes of a file that has a value: the size of the longest policy. */
const MAX_SOURCE_BYTES = 262_144;

/** Why a declaration can't be applied. */
export interface WrongFile {
  /** Lines for the operator. */
  readonly lines: readonly string[];
  /** What could be read, for further checks. */
  readonly requests: readonly DeclaredRequest[];
}

/** Reads a declaration from a file, with the values that come from this environment and from other files. */
export function readDeclarationFile(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Result<Declaration, WrongFile> {
  const text = readText(file, 4 * MAX_DECLARATION);
  if (!text.ok) return err({ lines: [`${file} ${text.error}`], requests: [] });
  const read = readDeclaration(text.value, sourcesOf(dirname(resolve(file)), environment));
  if (read.ok) return read;
  const { problems, requests } = read.error;
  return err({ lines: problems.map(({ line, message }) => `${file}:${line}: ${message}`), requests });
}

/** @param folder where relative paths begin. */
export function sourcesOf(folder: string, environment: Readonly<Record<string, string | undefined>>): Sources {
  return {
    environment(name, required) {
      const value = environment[name];
      if (value !== undefined && value !== "") return ok(value);
      return required ? err(`the environment variable ${name.slice(0, 128)} is not set`) : ok("");
    },
    file(path) {
      const text = readText(resolve(folder, path), MAX_SOURCE_BYTES);
      return text.ok ? text : err(`the file ${path} ${text.error}`);
    },
  };
}

/** A text of at most `maxBytes`. The error continues a sentence that begins with the file. */
function readText(path: string, maxBytes: number): Result<string, string> {
  try {
    if (statSync(path).size > maxBytes) return err(`is larger than ${maxBytes} bytes`);
    return ok(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(readFileSync(path)));
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return err("does not exist");
    return err(code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "is no text in UTF-8" : `can't be read (${code})`);
  }
}
