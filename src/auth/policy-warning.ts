import { currentTime } from "../base/clock.ts";
import { normalizePolicyNames } from "../policy/name.ts";
import type { Installation } from "../system/installation.ts";

/** Policies that one warning names. */
const MAX_NAMED = 10;

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

/**
 * Warns of a role that was written with names of policies that do not exist. Its tokens have the names all the same, which grant
 * nothing until the policies are made.
 *
 * @param sent the names of the write.
 */
export function absentPolicyWarnings(installation: Installation, sent: readonly string[]): readonly string[] {
  const now = currentTime();
  const absent = normalizePolicyNames(sent).filter((name) => !installation.hasPolicy(name, now));
  if (absent.length === 0) return [];
  const named = absent.slice(0, MAX_NAMED).map((name) => JSON.stringify(name));
  const more = absent.length > MAX_NAMED ? ` and ${absent.length - MAX_NAMED} more` : "";
  return [`These policies do not exist, and grant nothing until they are made: ${named.join(", ")}${more}`];
}
