import { attention, type Finding, good } from "../finding.ts";

export interface TokenFacts {
  /** Number of root tokens, and of root tokens that never end. `more`: there are more than were counted. */
  readonly root: number;
  readonly endlessRoot: number;
  readonly more: boolean;
  readonly endless: number;
  readonly total: number;
}

const neverEnd = (count: number): string => `${count} never ${count === 1 ? "ends" : "end"}`;

export function judgeRootTokens({ root, endlessRoot, more }: TokenFacts): Finding {
  const live = `${root}${more ? " or more" : ""}`;
  if (root === 0) return good("none lives");
  if (endlessRoot === 0) return good(`${live}, ${root === 1 ? "which ends" : "all of which end"}`);
  return attention(
    `${live}, ${root === 1 ? "which never ends" : `of which ${neverEnd(endlessRoot)}`}`,
    "Revoke it when policies and methods are set up (grove tokens --policy root); a new one can be made.",
    "docs/runbook.md#a-root-token-lives",
  );
}

export function judgeEndless({ endless, endlessRoot, total }: TokenFacts): Finding {
  const seen = `of ${total} tokens ${neverEnd(endless)}`;
  if (endless <= endlessRoot) return good(seen);
  return attention(
    seen,
    "See which (grove tokens --never-ends), and give them a period or an end.",
    "docs/runbook.md#tokens-never-end",
  );
}
