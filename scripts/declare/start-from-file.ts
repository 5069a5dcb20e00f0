import { dirname, resolve } from "node:path";
import { err, ok, type Result } from "../../src/base/result.ts";
import { isMount } from "./declarable-paths.ts";
import type { Declaration } from "./declaration.ts";
import { isInitialized, type Starting, startDeclared } from "./declared-start.ts";
import { linesOfRefusal } from "./plan-lines.ts";
import { openRootTokenFile } from "./root-token-file.ts";
import { readDeclarationFile } from "./sources.ts";

/**
 * Initializes a service with what a file declares. The file is not read when the service is initialized already. Both
 * the result and the error are lines for the operator.
 */
export async function startFromFile(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
  starting: Starting,
): Promise<Result<string, string>> {
  const before = await isInitialized(starting.as(""));
  if (!before.ok) return err(before.error.message);
  if (before.value) return ok(`Grove is initialized already: ${file} was not read`);
  const read = readDeclarationFile(file, environment);
  if (!read.ok) return err(read.error.lines.join("\n"));
  const declaration = read.value;
  const problem = closedToAll(declaration);
  if (problem !== null) return err(`${file}: ${problem}`);
  const path = declaration.rootTokenFile === null ? null : resolve(dirname(file), declaration.rootTokenFile);
  const kept = path === null ? null : openRootTokenFile(path);
  if (kept?.ok === false) return kept;
  const start = await startDeclared(starting, declaration);
  const token = start.ok && start.value.kind === "started" ? start.value.rootToken : "";
  const written = token !== "" && kept?.ok ? kept.value.write(token) : ok(undefined);
  if (kept?.ok) kept.value.close();
  if (!written.ok) return err(`initialized with ${file}, but ${written.error}`);
  if (!start.ok) return err(`${start.error.message}; the start from ${file} is not complete`);
  switch (start.value.kind) {
    case "initialized":
      return ok("Grove was initialized by another program meanwhile");
    case "refused": {
      const lines = linesOfRefusal(start.value.outcome, declaration.requests);
      return err(
        [...lines, `no request is served until the start is complete: correct ${file} and run this again`].join("\n"),
      );
    }
    case "started":
      if (path === null)
        return ok(`initialized with ${declaration.requests.length} requests of ${file}; no root token is left`);
      if (start.value.rootToken !== "") return ok(`initialized with ${file}; the root token is in ${path}`);
      return ok(`initialized with ${file}; the answer with the root token was lost: sys/generate-root makes one`);
  }
}

/** A start that leaves no way in is a mistake. */
function closedToAll({ requests, rootTokenFile }: Declaration): string | null {
  if (rootTokenFile !== null || requests.some(({ path }) => isMount(path))) return null;
  return "it enables no auth method and has no root_token_file: no client could log in";
}
