import { ASKED_PATHS } from "../asked-paths.ts";
import { done } from "../result.ts";
import { mayDo, useSession } from "../session.ts";
import { useLoad } from "../ui/index.ts";

/** The name of the policy that allows everything; lists do not always name it. */
const ROOT = "root";

/** Names of all policies; null while they are loaded, or when the token may not list them. */
export function useKnownPolicies(isWanted: boolean): ReadonlySet<string> | null {
  const session = useSession();
  const isAsked = isWanted && mayDo(session, ASKED_PATHS.policies, "list");
  const list = useLoad(String(isAsked), async () => (isAsked ? session.api.list("sys/policies/acl") : done(null)));
  return list.value && new Set([ROOT, ...list.value]);
}
