import type { TokenSummary } from "../../client/answers.d.ts";
import { count } from "../format.ts";
import { countOfGroup } from "./count-of-group.ts";

interface GroupCountProps {
  /** Null while it is not known, or refused. */
  readonly summary: TokenSummary | null;
  readonly group: string;
  /** The address of the list of its tokens. */
  readonly tokens: string;
}

/** The number of tokens in a group, as a link to them. The list has also those of a group that is not counted. */
export function GroupCount({ summary, group, tokens }: GroupCountProps) {
  if (summary === null) return <span class="muted">–</span>;
  const known = countOfGroup(summary, group);
  return <a href={tokens}>{known === null ? "in the list" : count(known)}</a>;
}
