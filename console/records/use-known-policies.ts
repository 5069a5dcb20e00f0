import { done } from "../result.ts";
import { ASKED_PATHS, mayDo, useSession } from "../session.ts";
import { useLoad } from "../ui/use-load.ts";

/** The name of the policy that allows everything; lists do not always name it. */
const ROOT = "root";

/** The policies that there are; null while that is not known, or the policies of the token refuse the list. */
export function useKnownPolicies(isWanted: boolean): ReadonlySet<string> | null {
  const session = useSession();
  const isAsked = isWanted && mayDo(session, ASKED_PATHS.policies, "list");
  const list = useLoad(String(isAsked), async () => (isAsked ? session.api.list("sys/policies/acl") : done(null)));
  return list.value && new Set([ROOT, ...list.value]);
}
