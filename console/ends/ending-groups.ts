import type { EndingTokens } from "../../client/answers.d.ts";
import { counted } from "../format.ts";
import { type GroupBy, withoutText } from "../tokens/grouping.ts";
import { barAt, type Span } from "./time-span.ts";

/** Most groups that an answer names. */
export const NAMED = 50;

/** How many groups are listed: all, or the largest. */
export const groupsText = (listed: number): string =>
  `${listed < NAMED ? "" : "the largest "}${counted(listed, "group")}`;

/** The name of the row of all tokens that are in no listed group. */
export const othersText = (by: GroupBy, listed: number): string =>
  listed < NAMED ? withoutText(by) : `all others, and those ${withoutText(by)}`;

export type EndingGroup = EndingTokens["groups"][number];

/** The number of tokens in each bar, from counts by the hour of end. */
export function hoursInBars(span: Span, hours: readonly { readonly key: string; readonly count: number }[]): number[] {
  const inBars = new Array<number>(span.bars).fill(0);
  for (const { key, count } of hours) {
    const at = barAt(span, Date.parse(key));
    if (at >= 0) inBars[at] = (inBars[at] ?? 0) + count;
  }
  return inBars;
}

/** Numbers of tokens by when they end: before a span, in it, after it, or never. */
interface EndSums {
  readonly before: number;
  readonly within: number;
  readonly later: number;
  readonly never: number;
  readonly all: number;
}

/** The sums of a count by hour of end, all from one answer, so that they add up. */
export function endSums(
  span: Span,
  {
    groups,
    total,
  }: { readonly groups: readonly { readonly key: string; readonly count: number }[]; readonly total: number },
): EndSums {
  const sumIf = (isMeant: (key: string) => boolean): number =>
    groups.reduce((sum, { key, count }) => sum + (isMeant(key) ? count : 0), 0);
  const never = sumIf((key) => key === "never");
  const before = sumIf((key) => Date.parse(key) < span.from);
  const within = sumIf((key) => barAt(span, Date.parse(key)) >= 0);
  // The answer names only the first hours. Tokens of other hours end later.
  return { before, within, later: Math.max(0, total - never - before - within), never, all: total };
}

/**
 * The parts of a bar: one colour for each of the first groups, and one for all others. A token with several groups counts
 * in each.
 */
export function partsOfBar(
  { groups, other }: EndingTokens,
  at: number,
  hueOf: (group: string) => string,
  otherHue: string,
): { readonly hue: string; readonly value: number }[] {
  const named = groups.map(({ key, parts }) => ({ hue: hueOf(key), value: parts[at] ?? 0 }));
  return [...named, { hue: otherHue, value: other.parts[at] ?? 0 }].filter(({ value }) => value > 0);
}
