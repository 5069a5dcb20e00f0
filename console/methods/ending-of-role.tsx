import { ASKED_PATHS } from "../asked-paths.ts";
import { policyPathOf } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { mayDo, useSession } from "../session.ts";
import { amountText } from "../tokens/amount.ts";
import { previewRevocation } from "../tokens/token-api.ts";
import { Figures, Notice, useLoad } from "../ui/index.ts";

interface EndingOfRoleProps {
  /** The endpoint of the role. */
  readonly path: string;
  readonly name: string;
}

/** How many tokens end with a role whose tokens end with their secret-ids. */
export function EndingOfRole({ path, name }: EndingOfRoleProps) {
  const session = useSession();
  const mayCount = mayDo(session, ...needsOf(ASKED_PATHS.revoke));
  return mayCount ? (
    <Counted path={path} name={name} />
  ) : (
    <p>How many tokens end with it is not shown: your policies do not allow it.</p>
  );
}

function Counted({ path, name }: EndingOfRoleProps) {
  const { api } = useSession();
  // The tokens of the role and of its secret-ids, which no client has (docs/approle.md); a client's are below them.
  const where = { metadata: `role_name=${name}`, path_prefix: policyPathOf(path) };
  const found = useLoad(path, () => previewRevocation(api, { ...where, include_root: true, include_self: true }));
  if (found.problem)
    return (
      <Notice tone="warn" title="What ends with it can't be counted">
        {found.problem.messages.join(" ")}
      </Notice>
    );
  if (!found.value) return <p class="muted">Counting what ends with it…</p>;
  const { total, count, leases } = found.value;
  return <Figures rows={{ "Tokens that end with it": String(total - count), "Leases that end": amountText(leases) }} />;
}
