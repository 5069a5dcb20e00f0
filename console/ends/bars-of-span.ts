import { clockText, counted, dayText, exact } from "../format.ts";
import { href } from "../href.ts";
import type { Bar } from "../ui/bar.ts";
import { filterOfSpan, HOUR, iso, type Range, type Span } from "./time-span.ts";

/** Labels below the bars. */
const LABELS = 8;

/** The bars of a span, each with a link to its tokens. @param partsAt the parts of the bar at an index */
export function barsOf(
  span: Span,
  range: Range,
  inBars: readonly number[],
  partsAt: (at: number) => Bar["parts"],
): readonly Bar[] {
  return inBars.map((tokens, at) => {
    const start = span.from + at * span.step;
    const end = start + span.step;
    const label = (span.step === HOUR ? clockText : dayText)(start);
    return {
      key: `${range} ${start}`,
      value: tokens,
      label: at % Math.ceil(span.bars / LABELS) === 0 ? label : "",
      text: `${counted(tokens, "token")} ${tokens === 1 ? "ends" : "end"} between ${exact(iso(start))} and ${exact(iso(end))}`,
      href: href(["tokens"], { ...filterOfSpan(start, end), sort: "end" }),
      parts: partsAt(at),
    };
  });
}
