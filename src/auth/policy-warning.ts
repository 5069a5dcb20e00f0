import { currentTime } from "../base/clock.ts";
import type { Installation } from "../system/installation.ts";

/**
 * Warns of a login whose token may do nothing but what `default` allows; nothing where a policy besides it exists. The usual
 * cause is a policy that a role names and that does not exist.
 *
 * @param policies of the token and of its entity.
 */
export function policyWarnings(installation: Installation, policies: readonly string[]): readonly string[] {
  const others = policies.filter((name) => name !== "default");
  if (others.some((name) => installation.hasPolicy(name, currentTime()))) return [];
  const absent = others.map((name) => `policy ${JSON.stringify(name)} does not exist`).join(", ");
  return [`This login gives no policies besides "default"${absent === "" ? "" : `: ${absent}`}`];
}
