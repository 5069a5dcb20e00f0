import { type Failure, invalid } from "../errors.ts";
import { err, ok, type Result } from "../result.ts";
import type { TokenSpec } from "./record.ts";

/**
 * The token with the entity of the alias that its creator named, "" for none. Called when the rules have allowed the
 * creation and before anything of it is written, since this may make an entity.
 */
export async function withEntityOfAlias(spec: TokenSpec, alias: string): Promise<Result<TokenSpec, Failure>> {
  return alias === "" ? ok(spec) : err(invalid("entity aliases are not available"));
}
