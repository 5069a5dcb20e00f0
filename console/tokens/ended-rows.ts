import type { EndedToken } from "../../client/answers.d.ts";

/** Tokens that ended together and follow each other in the list. */
export interface EndedRow {
  /** The one that was revoked, where the list has it: the others ended with it. Otherwise the first of the list. */
  readonly first: EndedToken;
  /** How many of the list ended with it. */
  readonly others: number;
  /** What they have in common, for their own list. */
  readonly of: { readonly job: string } | { readonly cause: string };
}

/** One row for all that one revocation ended, so that a large one hides no other. */
export function rowsOfEnded(tokens: readonly EndedToken[]): readonly EndedRow[] {
  const rows: EndedRow[] = [];
  for (const token of tokens) {
    const { job, cause } = token.ended;
    const of = job === "" ? { cause } : { job };
    const last = rows.at(-1);
    if (last && JSON.stringify(last.of) === JSON.stringify(of))
      rows[rows.length - 1] = {
        ...last,
        first: isCause(last.first) || !isCause(token) ? last.first : token,
        others: last.others + 1,
      };
    else rows.push({ first: token, others: 0, of });
  }
  return rows;
}

/** True for a token that was itself revoked: a job has several, each of which has ended what was below it. */
const isCause = ({ token, ended }: EndedToken): boolean => token.accessor === ended.cause;

/** Every token in a row of its own. */
export const singleRows = (tokens: readonly EndedToken[]): readonly EndedRow[] =>
  tokens.map((first) => ({ first, others: 0, of: { cause: first.ended.cause } }));
