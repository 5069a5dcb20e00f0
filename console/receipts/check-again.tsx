import { useEffect, useState } from "preact/hooks";
import type { EndedCheck } from "../../client/answers.d.ts";
import { count } from "../format.ts";
import { href } from "../href.ts";
import type { Answer } from "../result.ts";
import type { Amount } from "../tokens/amount.ts";
import { MOST_NAMED } from "../tokens/selection.ts";
import { Notice, ProblemNotice, Time } from "../ui/index.ts";
import { checkFinding } from "./check-finding.ts";
import { LeasesNotice } from "./leases-notice.tsx";
import { useAllPages } from "./use-all-pages.ts";
import { wholeCheck } from "./whole-receipt.ts";

/** How often the check is repeated until the sweep has recorded all ended tokens, and the pause between (ms). */
const SWEEPS = 30;
const SWEEP_MS = 1_000;

/** The answers of the trees, and when they were asked. */
type Checked = EndedCheck & { readonly at: string };

/** Most tokens that are checked automatically (12 requests). */
export const MOST_BY_ITSELF = 10_000;

interface CheckAgainProps {
  /** Tokens that ended. */
  readonly total: number;
  /** True when more than `total` ended. */
  readonly isLeast?: boolean;
  /** True while the clean-up names more of them. */
  readonly goesOn?: boolean;
  /** Leases that the tokens had. */
  readonly leases: Amount;
  /** True when `leases` counts those of other tokens too, which have not ended. */
  readonly hasOthers?: boolean;
  /** Asks the trees of one page of the tokens. */
  readonly ask: (after: string) => Promise<Answer<EndedCheck>>;
  /** Called with each result. */
  readonly onChecked?: (check: EndedCheck) => void;
  /** Called when there is no result: while the trees are asked, when that failed, and before the user asks. */
  readonly onNone?: (why: "checking" | "failed" | "not asked") => void;
  /** When the check runs automatically: never, once, or repeatedly until the sweep has recorded all tokens. */
  readonly first: "never" | "once" | "until swept";
}

/** Asks the server again whether all ended tokens are refused. */
export function CheckAgain({
  total,
  isLeast = false,
  goesOn = false,
  leases,
  hasOthers = false,
  ask,
  onChecked,
  onNone,
  first,
}: CheckAgainProps) {
  const [checked, setChecked] = useState<Checked | null>(null);
  const [sweeps, setSweeps] = useState(0);
  const walk = useAllPages(
    (progress) => wholeCheck(ask, progress),
    (check) => {
      setChecked({ ...check, at: new Date().toISOString() });
      onChecked?.(check);
    },
  );
  useEffect(() => {
    if (first !== "never") walk.start();
  }, []);
  const isReading = walk.read !== null;
  const isWaiting = first !== "never" && !walk.problem;
  const none = isReading || isWaiting ? "checking" : walk.problem ? "failed" : "not asked";
  useEffect(() => {
    if (checked === null) onNone?.(none);
  }, [none, checked]);
  const isShort = checked !== null && checked.ended < total && checked.alive.length === 0;
  const waits = first === "until swept" && isShort && total <= MOST_NAMED && sweeps < SWEEPS;
  useEffect(() => {
    if (!waits) return;
    const timer = window.setTimeout(() => {
      setSweeps(sweeps + 1);
      walk.start();
    }, SWEEP_MS);
    return () => window.clearTimeout(timer);
  }, [waits, sweeps]);
  return (
    <div class="body stack tight">
      <div class="row">
        <button type="button" class="button" aria-disabled={walk.read !== null} onClick={walk.start}>
          {walk.read === null
            ? "Check again"
            : `Checking… ${count(walk.read)}${isLeast && total <= walk.read ? "" : ` of ${count(total)}`}`}
        </button>
        <span class="muted">asks the tree of each token whether it is refused, and its leases revoked</span>
      </div>
      {checked && !waits && <CheckNotice {...{ checked, total, isLeast, goesOn }} />}
      {checked && (
        <LeasesNotice
          before={leases}
          unrevoked={checked.unrevoked_leases}
          ended={checked.ended}
          isWhole={!hasOthers && checked.ended >= total && checked.next === "" && checked.alive.length === 0}
          onTried={walk.start}
        />
      )}
      {walk.problem && <ProblemNotice problem={walk.problem} />}
    </div>
  );
}

/** Most accessors of usable tokens that are shown. */
const SHOWN_ALIVE = 20;

interface CheckNoticeProps {
  readonly checked: Checked;
  readonly total: number;
  readonly isLeast: boolean;
  readonly goesOn: boolean;
}

/** The answers of the trees, and when they were asked. */
function CheckNotice({ checked, total, isLeast, goesOn }: CheckNoticeProps) {
  const { tone, title, text } = checkFinding(checked, total, isLeast, goesOn);
  return (
    <Notice tone={tone} title={title}>
      {text !== "" && <p>{text}</p>}
      {checked.alive.slice(0, SHOWN_ALIVE).map((accessor) => (
        <p key={accessor}>
          <a class="mono" href={href(["tokens", accessor])}>
            {accessor}
          </a>
        </p>
      ))}
      <p class="small muted">
        Checked <Time at={checked.at} both />
      </p>
    </Notice>
  );
}
