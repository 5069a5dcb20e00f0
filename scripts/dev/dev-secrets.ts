import { randomBytes } from "node:crypto";
import { err, ok, type Result } from "../../src/base/result.ts";
import type { DataDirectory } from "../local/data-directory.ts";

/** Files that `--fresh` removes. */
export const KEPT = ["state", "seal-key", "root-token", "environment", "audit.log"] as const;

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const TOKEN_CHARACTERS = 24;

/** The secrets of a development installation. */
export interface DevIdentity {
  readonly sealKey: string;
  readonly rootToken: string;
}

/**
 * The secrets kept with the data, made at the first start. They are files that only this user can read, because every user of the
 * machine can see a command line.
 *
 * @param chosen root token from the command line; refused when the data was made with another
 */
export function devIdentity(data: DataDirectory, chosen: string | undefined): Result<DevIdentity, string> {
  const sealKey = data.readOrMake("seal-key", () => `1:${randomBytes(32).toString("base64")}`);
  const rootToken = data.readOrMake("root-token", () => chosen ?? newRootToken());
  if (chosen !== undefined && chosen !== rootToken) {
    return err("this data has another root token already; add --fresh to start empty, or choose another --data DIR");
  }
  return ok({ sealKey, rootToken });
}

/** `dev-` and 24 characters with 142 random bits together. */
function newRootToken(): string {
  let token = "dev-";
  while (token.length < "dev-".length + TOKEN_CHARACTERS) {
    // Values from 248 on would make some characters likelier than others.
    for (const byte of randomBytes(TOKEN_CHARACTERS)) if (byte < 248) token += BASE62[byte % 62];
  }
  return token.slice(0, "dev-".length + TOKEN_CHARACTERS);
}

/**
 * The text of Wrangler's file of settings. A value with a character that has a meaning there is refused, because Wrangler would read
 * another value.
 */
export function environmentFile(settings: Readonly<Record<string, string>>): Result<string, string> {
  const lines: string[] = [];
  for (const [name, value] of Object.entries(settings)) {
    if (!/^\w+$/.test(name) || /['$\\\r\n]/.test(value)) {
      return err(`${name} has a quote, a dollar sign, a backslash or a line end, which cannot be passed on here`);
    }
    lines.push(`${name}='${value}'\n`);
  }
  return ok(lines.join(""));
}
