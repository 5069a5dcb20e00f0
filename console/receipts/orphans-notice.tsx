import type { ComponentChildren } from "preact";
import { ASKED_PATHS } from "../asked-paths.ts";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import type { Answer } from "../result.ts";
import { mayDo, useSession } from "../session.ts";
import { distinctNames } from "../tokens/distinct-names.ts";
import { Notice, useLoad } from "../ui/index.ts";
import type { OrphansMade } from "./orphans-made.ts";

/** Most orphans that are named. */
const NAMED = 8;

interface OrphansNoticeProps {
  /** The makers; the orphans of others are asked for anew. */
  readonly of: string;
  /** Reads the orphans; null when there are too many makers to ask for. */
  readonly ask: (() => Promise<Answer<OrphansMade>>) | null;
  /** What can be done about the orphans, by the accessors of all that was made. */
  readonly action: (accessors: readonly string[]) => ComponentChildren;
}

/** How many orphans stay that the tokens of a revocation made, or that this is not known. */
export function OrphansNotice({ of, ask, action }: OrphansNoticeProps) {
  const session = useSession();
  const mayAsk = mayDo(session, ASKED_PATHS.audit, "read", "sudo") && mayDo(session, ...needsOf(ASKED_PATHS.revoke));
  return ask && mayAsk ? <Asked of={of} ask={ask} action={action} /> : <NotIncluded />;
}

function NotIncluded() {
  return (
    <p>
      Orphans that they made are not included: the timeline of each token and the{" "}
      <a href={href(["audit"])}>audit log</a> have them.
    </p>
  );
}

interface AskedProps extends OrphansNoticeProps {
  readonly ask: () => Promise<Answer<OrphansMade>>;
}

function Asked({ of, ask, action }: AskedProps) {
  const found = useLoad(of, ask);
  if (found.problem) return <NotIncluded />;
  if (!found.value) return <p class="muted">Looking for orphans that they made…</p>;
  const { total, more, sample, accessors } = found.value;
  const names = distinctNames(sample);
  if (total === 0 && more) return <p>Not all records were read: the audit log may have orphans that they made.</p>;
  if (total === 0) return <p class="muted">The audit store has no live orphan that they made.</p>;
  return (
    <Notice
      tone="bad"
      title={`Orphans that they made stay: ${counted(total, "token")}${more ? " or more" : ""}, with all below`}
    >
      <p class="break">
        {sample.slice(0, NAMED).map((token, at) => (
          <span key={token.accessor}>
            {at > 0 && ", "}
            <a href={href(["tokens", token.accessor])}>{names.get(token.accessor)}</a>
          </span>
        ))}
        {sample.length > NAMED && " …"}
      </p>
      {action(accessors)}
    </Notice>
  );
}

/** Before a revocation the orphans can't be ended yet: its receipt does that. */
export const ENDED_LATER = () => <p>They have trees of their own. The receipt lists them, and can end them.</p>;
