import { ASKED_PATHS } from "../asked-paths.ts";
import { counted } from "../format.ts";
import { needsOf } from "../needed-capabilities.ts";
import { mayDo, useSession } from "../session.ts";
import { amountText } from "../tokens/amount.ts";
import { Figures, Notice, useLoad } from "../ui/index.ts";
import { tokensOfSecretId } from "./secret-id-tokens.ts";

interface SecretIdNumbersProps {
  /** The endpoint of the role. */
  readonly path: string;
  readonly accessor: string;
}

/** How many tokens end with a secret-id, and how many of its logins stay. */
export function SecretIdNumbers(props: SecretIdNumbersProps) {
  const session = useSession();
  const mayCount = mayDo(session, ASKED_PATHS.tokens, "read", "sudo") && mayDo(session, ...needsOf(ASKED_PATHS.revoke));
  return mayCount ? (
    <Counted {...props} />
  ) : (
    <p>How many tokens it gave is not shown: your policies do not allow it.</p>
  );
}

function Counted({ path, accessor }: SecretIdNumbersProps) {
  const session = useSession();
  const readsLogins = mayDo(session, ASKED_PATHS.audit, "read", "sudo");
  const found = useLoad(accessor, () => tokensOfSecretId(session.api, { path, accessor }, readsLogins));
  if (found.problem)
    return (
      <Notice tone="warn" title="The tokens that it gave can't be counted">
        {found.problem.messages.join(" ")}
      </Notice>
    );
  if (!found.value) return <p class="muted">Counting the tokens that it gave…</p>;
  const { ending, staying, batch } = found.value;
  return (
    <>
      <Figures
        rows={{
          "Tokens that end with it": amountText({ count: ending?.total ?? 0, more: false }),
          ...(ending && { "Leases that end": amountText(ending.leases) }),
          "Tokens of its logins that stay": staying
            ? amountText({ count: staying.total, more: staying.more })
            : "not known",
        }}
      />
      {batch > 0 && <p class="small muted">{counted(batch, "login")} gave a batch token, which no list has.</p>}
    </>
  );
}
