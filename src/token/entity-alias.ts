import { err, ok, type Result, refuse } from "../base/result.ts";
import { entityForLogin } from "../identity/login.ts";
import { nameProblem } from "../identity/rules.ts";
import type { Installation } from "../system/installation.ts";
import type { TokenEnv } from "./env.ts";
import type { TokenSpec } from "./record.ts";

/**
 * The token with the entity of the alias that its creator named, "" for none. Called when the rules have allowed the
 * creation and before anything of it is written, since this may make an entity.
 * Messages are the reference's (auth/token/create).
 */
export async function withEntityOfAlias(
  env: TokenEnv,
  installation: Installation,
  spec: TokenSpec,
  aliasName: string,
): Promise<Result<TokenSpec>> {
  if (aliasName === "") return ok(spec);
  const problem = nameProblem("alias", aliasName);
  if (problem) return refuse(problem);
  const mount = installation.mountAt("token/");
  if (!mount) return refuse("auth token mount accessor not found");
  const found = await entityForLogin(env, { mountAccessor: mount.accessor, aliasName, metadata: null });
  if (!found.ok) return err({ code: "forbidden", message: "entity from given entity alias is disabled" });
  return ok({ ...spec, record: { ...spec.record, entityId: found.value.entity.id } });
}
