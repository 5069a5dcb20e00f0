import type { EndedToken } from "../../client/answers.d.ts";

/** Consecutive tokens of the list that ended together. */
export interface EndedRow {
  /** The revoked token, with which the others ended, if it is in the list; otherwise the first token. */
  readonly first: EndedToken;
  /** How many tokens of the list ended with it. */
  readonly others: number;
  /** The job or cause that they share, for a list of their own. */
  readonly of: { readonly job: string } | { readonly cause: string };
}

/** One row for all tokens that one revocation ended, so that a large revocation hides no other. */
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

/** True for a token that was revoked itself. A job revokes several tokens, each with its descendants. */
const isCause = ({ token, ended }: EndedToken): boolean => token.accessor === ended.cause;

/** One row for each token. */
export const singleRows = (tokens: readonly EndedToken[]): readonly EndedRow[] =>
  tokens.map((first) => ({ first, others: 0, of: { cause: first.ended.cause } }));
