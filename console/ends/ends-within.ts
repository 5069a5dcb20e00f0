import type { Span } from "./time-span.ts";

/** The items that end in a span, by time of end. */
export function endsWithin<T>(
  { from, until }: Pick<Span, "from" | "until">,
  all: readonly T[],
  endOf: (one: T) => string | null,
): readonly T[] {
  const ends = all.flatMap((one) => {
    const end = endOf(one);
    const at = end === null ? Number.NaN : Date.parse(end);
    return at >= from && at < until ? [{ one, at }] : [];
  });
  return ends.sort((a, b) => a.at - b.at).map(({ one }) => one);
}
