import { within } from "../../base/location.ts";
import type { IdentityEnv } from "../env.ts";

/** The directory of the installation. */
export function identityOf(env: IdentityEnv) {
  return within(env, env.IDENTITY).getByName("identity");
}
