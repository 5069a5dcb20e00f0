import { currentTime } from "../base/clock.ts";
import { normalizePolicyNames } from "../policy/builtin.ts";
import type { Installation } from "../system/installation.ts";

const MAX_NAMED = 10;

/** Returns a warning when a token and its entity have no existing policy besides `default`, else nothing. */
export function policyWarnings(installation: Installation, policies: readonly string[]): readonly string[] {
  const others = policies.filter((name) => name !== "default");
  if (others.some((name) => installation.policies.has(name, currentTime()))) return [];
  const absent = others.map((name) => `policy ${JSON.stringify(name)} does not exist`).join(", ");
  return [`This login gives no policies besides "default"${absent === "" ? "" : `: ${absent}`}`];
}

/** Returns a warning when a role was written with policies that do not exist, else nothing. Its tokens get them anyway. */
export function absentPolicyWarnings(installation: Installation, sent: readonly string[]): readonly string[] {
  const now = currentTime();
  const absent = normalizePolicyNames(sent).filter((name) => !installation.policies.has(name, now));
  if (absent.length === 0) return [];
  const named = absent.slice(0, MAX_NAMED).map((name) => JSON.stringify(name));
  const more = absent.length > MAX_NAMED ? ` and ${absent.length - MAX_NAMED} more` : "";
  return [`These policies do not exist, and grant nothing until they are made: ${named.join(", ")}${more}`];
}
