import type { EndingTokens } from "../../client/answers.d.ts";
import { barAt, type Span } from "./span.ts";

export type EndingGroup = EndingTokens["groups"][number];

/** The tokens of each bar by the hour in which they end, where their groups are not known. */
export function hoursInBars(span: Span, hours: readonly { readonly key: string; readonly count: number }[]): number[] {
  const inBars = new Array<number>(span.bars).fill(0);
  for (const { key, count } of hours) {
    const at = barAt(span, Date.parse(key));
    if (at >= 0) inBars[at] = (inBars[at] ?? 0) + count;
  }
  return inBars;
}

/** The parts of a bar: a colour for each of the first groups, one for all others. A token counts in each of its groups. */
export function partsOfBar(
  { groups, other }: EndingTokens,
  at: number,
  hueOf: (group: string) => string,
  otherHue: string,
): { readonly hue: string; readonly value: number }[] {
  const named = groups.map(({ key, parts }) => ({ hue: hueOf(key), value: parts[at] ?? 0 }));
  return [...named, { hue: otherHue, value: other.parts[at] ?? 0 }].filter(({ value }) => value > 0);
}
