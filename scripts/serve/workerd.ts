import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { err, ok, type Result } from "../../src/base/result.ts";

/** The path of the workerd program that comes with the packages; the error is for the operator. */
export function findWorkerd(): Result<string, string> {
  try {
    const { default: path }: { readonly default: string } = createRequire(import.meta.url)("workerd");
    accessSync(path, constants.X_OK);
    return ok(path);
  } catch {
    return err(
      "the workerd program is missing or does not fit this machine; run npm ci (without --omit=optional) here",
    );
  }
}
