import { within } from "../../base/location.ts";
import type { Env } from "../../env.ts";

/** The directory of the installation. */
export function identityOf(env: Env) {
  return within(env, env.IDENTITY).getByName("identity");
}
