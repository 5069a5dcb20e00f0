import { ok, type Result, refuse } from "../../base/result.ts";
import type { MountTokenType } from "../../system/mount.ts";
import type { TokenType } from "../record.ts";
import type { TokenRole } from "../role.ts";

/** The type that a role or a client asks for; "default": any. */
export type TokenTypeChoice = TokenType | "default";

/** The type of a token: a mount or role with a fixed type decides, else the caller's choice, else their default. */
export function chooseTokenType(setting: MountTokenType | "default", choice: TokenTypeChoice): TokenType {
  if (setting === "service" || setting === "batch") return setting;
  if (choice !== "default") return choice;
  return setting === "default-batch" ? "batch" : "service";
}

/** Reads the type of a new token from the request ("": none) and the token role; a 400 for a text that is no type. */
export function readTokenType(requested: string, role: TokenRole | null): Result<TokenType> {
  if (requested !== "" && requested !== "service" && requested !== "batch") return refuse("invalid 'token_type' value");
  return ok(chooseTokenType(role?.tokenType ?? "default", requested || "default"));
}
