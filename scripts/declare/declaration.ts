import { err, ok, type Result } from "../../src/base/result.ts";
import { parseHcl } from "../../src/policy/hcl.ts";
import { parseJson } from "../../src/policy/json.ts";
import {
  lineAt,
  objectsOf,
  repeatedIn,
  type SyntaxEntry,
  type SyntaxObject,
  type SyntaxValue,
} from "../../src/policy/syntax.ts";
import { pathProblem } from "./declarable-paths.ts";
import { type Json, type Source, type Sources, ValueReader } from "./value-references.ts";

/** Most characters of a declaration. */
export const MAX_DECLARATION = 1_048_576;
/** Most requests of a declaration. */
export const MAX_REQUESTS = 512;
/** Most characters of the fields of one request, as JSON: less than a server takes. */
const MAX_DATA = 524_288;
/** Most mistakes that are reported at once. */
const MAX_PROBLEMS = 10;

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,127}$/;

/** A setting that a declaration asks for. */
export interface DeclaredRequest {
  /** The name of its block and its own. */
  readonly name: string;
  /** Line of the request's name in the file, from 1. */
  readonly line: number;
  /** Without `/v1/`. */
  readonly path: string;
  readonly data: Readonly<Record<string, Json>>;
  /** Sources of the values that are not in the file itself, by field. */
  readonly origins: ReadonlyMap<string, readonly Source[]>;
}

/** What a file declares, in its order. */
export interface Declaration {
  readonly requests: readonly DeclaredRequest[];
  /** The file that a new installation's root token is written to; null: no root token is left. */
  readonly rootTokenFile: string | null;
}

/** The mistakes of a declaration. */
export interface WrongDeclaration {
  readonly problems: readonly DeclarationProblem[];
  /** What could be read, for further checks. */
  readonly requests: readonly DeclaredRequest[];
}

/** A mistake in a declaration. */
export interface DeclarationProblem {
  readonly line: number;
  readonly message: string;
}

/**
 * Reads a declaration: HCL or JSON in the form of OpenBao's self-initialization, blocks `initialize` of blocks `request`.
 * Several mistakes are reported at once. No message repeats a value.
 */
export function readDeclaration(text: string, sources: Sources): Result<Declaration, WrongDeclaration> {
  if (text.length > MAX_DECLARATION) {
    return unread({ line: 1, message: `the file is longer than ${MAX_DECLARATION} characters` });
  }
  const parsed = text.trimStart().startsWith("{") ? parseJson(text) : parseHcl(text);
  if (!parsed.ok) return unread({ line: lineAt(text, parsed.error.at), message: parsed.error.message });
  const reader = new DeclarationReader(text, sources);
  const declaration = reader.read(parsed.value);
  const { problems } = reader;
  return problems.length === 0 ? ok(declaration) : err({ problems, requests: declaration.requests });
}

const unread = (problem: DeclarationProblem) => err({ problems: [problem], requests: [] });

class DeclarationReader {
  readonly problems: DeclarationProblem[] = [];
  readonly #text: string;
  readonly #sources: Sources;

  constructor(text: string, sources: Sources) {
    this.#text = text;
    this.#sources = sources;
  }

  read(root: SyntaxObject): Declaration {
    const requests: DeclaredRequest[] = [];
    let rootTokenFile: string | null = null;
    for (const { key, value, at } of root.entries) {
      if (key === "initialize")
        requests.push(...this.#blocks(value, at, "initialize").flatMap((block) => this.#group(block)));
      else if (key !== "root_token_file") this.#unknown(key, at, "the file");
      else if (rootTokenFile !== null) this.#problem("root_token_file is set twice", at);
      else rootTokenFile = this.#textIn(value, key);
    }
    this.#refuseRepeated(root.entries.filter(({ key }) => key === "initialize").flatMap(({ value }) => namesIn(value)));
    const byPath = new Map<string, DeclaredRequest>();
    for (const request of requests) {
      const earlier = byPath.get(request.path);
      if (earlier) this.#add(`${request.path} is declared on line ${earlier.line} already`, request.line);
      else byPath.set(request.path, request);
    }
    if (requests.length > MAX_REQUESTS) this.#problem(`there are more than ${MAX_REQUESTS} requests`, 0);
    if (requests.length === 0 && this.problems.length === 0) this.#problem("the file declares nothing", 0);
    return { requests, rootTokenFile };
  }

  /** The named blocks of one keyword: a block, or in JSON a list of objects, each with blocks by name. */
  #blocks(
    value: SyntaxValue,
    at: number,
    keyword: string,
  ): { readonly name: string; readonly at: number; readonly body: SyntaxObject }[] {
    const objects = objectsOf(value);
    if (!objects) this.#problem(`${keyword} must be a block with a name`, at);
    return (objects ?? []).flatMap(({ entries }) =>
      entries.flatMap((entry) => {
        if (!NAME.test(entry.key)) this.#problem(`the name of ${keyword} must be letters, digits, _ and -`, entry.at);
        const bodies = objectsOf(entry.value);
        const [body] = bodies ?? [];
        if (bodies?.length === 1 && body) return [{ name: entry.key, at: entry.at, body }];
        this.#problem(`${keyword} must be a block with one name`, entry.at);
        return [];
      }),
    );
  }

  #group({
    name,
    at,
    body,
  }: {
    readonly name: string;
    readonly at: number;
    readonly body: SyntaxObject;
  }): DeclaredRequest[] {
    const requests = body.entries.filter(({ key }) => key === "request");
    for (const entry of body.entries) {
      if (entry.key !== "request") this.#unknown(entry.key, entry.at, `initialize "${name}"`);
    }
    if (requests.length === 0) this.#problem(`initialize must have a request`, at);
    this.#refuseRepeated(requests.flatMap(({ value }) => namesIn(value)));
    return requests
      .flatMap(({ value, at: requestAt }) => this.#blocks(value, requestAt, "request"))
      .map((block) => this.#request(`${name}.${block.name}`, block.at, block.body));
  }

  #request(name: string, at: number, { entries }: SyntaxObject): DeclaredRequest {
    const given = new Map<string, SyntaxEntry>();
    this.#refuseRepeatedFields(name, entries);
    for (const entry of entries) {
      if (!KEYS.has(entry.key)) this.#unknown(entry.key, entry.at, name);
      given.set(entry.key, entry);
    }
    const textOf = (key: string): string => {
      const entry = given.get(key);
      if (!entry) this.#problem(`${name}: ${key} is missing`, at);
      return entry ? (this.#textIn(entry.value, `${name}: ${key}`) ?? "") : "";
    };
    const operation = textOf("operation");
    if (operation !== "" && operation !== "create" && operation !== "update") {
      this.#problem(
        `${name}: operation must be create or update: a file declares what should be there`,
        given.get("operation")?.at ?? at,
      );
    }
    const path = textOf("path").replace(/^\//, "");
    const problem = path === "" ? null : pathProblem(path);
    if (problem !== null) this.#problem(`${name}: ${problem}`, given.get("path")?.at ?? at);
    const data = given.get("data");
    return { name, line: lineAt(this.#text, at), path, ...this.#data(name, data) };
  }

  #data(name: string, entry: SyntaxEntry | undefined): Pick<DeclaredRequest, "data" | "origins"> {
    const objects = entry ? objectsOf(entry.value) : [];
    if (entry && objects?.length !== 1) this.#problem(`${name}: data must be an object`, entry.at);
    const origins = new Map<string, readonly Source[]>();
    const entries = objects?.[0]?.entries ?? [];
    this.#refuseRepeatedFields(name, entries);
    const fields = entries.map(({ key, value }): [string, Json] => {
      const problem = (message: string, where: number) => this.#problem(`${name}: ${key}: ${message}`, where);
      const reader = new ValueReader(this.#sources, problem);
      const read = reader.read(value);
      if (reader.origins.length > 0) origins.set(key, reader.origins);
      return [key, read];
    });
    const data = Object.fromEntries(fields);
    const isLong = JSON.stringify(data).length > MAX_DATA;
    if (isLong) this.#problem(`${name}: data is longer than ${MAX_DATA} characters`, entry?.at ?? 0);
    return { data, origins };
  }

  /** A text in the file itself; null for anything else. */
  #textIn(value: SyntaxValue, what: string): string | null {
    if (value.kind === "string" && value.value !== "") return value.value;
    this.#problem(`${what} must be a text, not empty`, value.at);
    return null;
  }

  #refuseRepeated(names: readonly SyntaxEntry[]): void {
    for (const { key, at } of repeatedIn(names)) {
      this.#problem(`there are two blocks of the name ${JSON.stringify(key.slice(0, 64))}`, at);
    }
  }

  #refuseRepeatedFields(name: string, fields: readonly SyntaxEntry[]): void {
    for (const { key, at } of repeatedIn(fields)) this.#problem(`${name}: ${key} is set twice`, at);
  }

  #unknown(key: string, at: number, where: string): void {
    const known = UNSUPPORTED.has(key) ? "is not supported" : "is not known";
    this.#problem(`${where}: ${JSON.stringify(key.slice(0, 64))} ${known}`, at);
  }

  #problem(message: string, at: number): void {
    // To find a line takes a pass over the text.
    if (this.problems.length < MAX_PROBLEMS) this.#add(message, lineAt(this.#text, at));
  }

  #add(message: string, line: number): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ line, message });
  }
}

const KEYS: ReadonlySet<string> = new Set(["operation", "path", "data"]);
/** Further keys of the reference, which Grove does not support. */
const UNSUPPORTED: ReadonlySet<string> = new Set(["token", "headers", "when", "allow_failure", "input", "output"]);

function namesIn(value: SyntaxValue): readonly SyntaxEntry[] {
  return (objectsOf(value) ?? []).flatMap(({ entries }) => entries);
}
