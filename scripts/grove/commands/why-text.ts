import { asCalled, helpAsCalled } from "../../local/command-line.ts";
import { hasToken } from "../secret-detection.ts";
import { UUID_PATTERN } from "../uuid.ts";

/** The id beside its name, as in the header `X-Request-Id: …` or in a line of JSON. */
const NAMED_ID = new RegExp(String.raw`request[_-]?id\\*["']?[\s:=]+\\*["']?(${UUID_PATTERN})(?![\w-])`, "i");
const ANY_ID = new RegExp(String.raw`(?<![\w-])${UUID_PATTERN}(?![\w-])`);
/** A path in a URL of an API, up to the first character with a meaning in a shell. */
const API_PATH = /\/(v1|api\/v2)\/([\w.@/-]*\w)/;

/** The first segments of paths with endpoints below `/v1/`. */
const SERVED: ReadonlySet<string> = new Set(["auth", "cubbyhole", "identity", "sys"]);

/** Explains why a path has no endpoint. */
export function noEndpoint(path: string): string {
  return path.startsWith("auth/")
    ? "There is no such endpoint: no auth method is mounted there, or it has none of this name."
    : `There is no such endpoint: Grove is a token authority, and has no secret engines (${helpAsCalled("docs/moving-from-vault.md")}).`;
}

/** The id of a request in a pasted text, such as the headers of an answer. null: none. */
export function requestIdIn(text: string): string | null {
  // An id in a path is that of an entity or a job.
  const withoutPaths = text.replaceAll(/\S*\/\S*/g, " ");
  return (NAMED_ID.exec(text)?.[1] ?? ANY_ID.exec(withoutPaths)?.[0])?.toLowerCase() ?? null;
}

/** What to do with a text without the id of a request, such as the error message of a client. */
export function withoutId(text: string): string {
  return `the text has no id of a request, which is in the header X-Request-Id of the answer. ${searchFor(text)}`;
}

/** How a request is found without its id. @param text may have a URL with its path. */
export function searchFor(text: string): string {
  const [, base, path = ""] = API_PATH.exec(text) ?? [];
  const isServed = base !== "v1" || SERVED.has(path.split("/", 1).join());
  // The store has the paths of endpoints only. A path with a token does not belong on a command line.
  const option = path === "" || !isServed || hasToken(path) ? "" : ` --path ${path}`;
  const reason = isServed ? "" : `${noEndpoint(path)} `;
  return `${reason}${asCalled(`audit --kind refusal --since 4h${option}`)} shows what was refused (--address A: of one client)`;
}
