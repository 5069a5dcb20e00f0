import type { Api } from "../api.ts";
import type { Answer } from "../result.ts";
import { counterName, type GroupBy } from "../tokens/group.ts";
import type { Ends } from "./groups.ts";
import type { Span } from "./span.ts";

/** Groups that are named. */
const NAMED = 50;

/** The ends in a span by group, a part for each bar. */
export const readEnds = (api: Api, { from, step, bars }: Span, by: GroupBy): Promise<Answer<Ends>> =>
  api.read<Ends>("sys/tokens/ends", {
    group_by: counterName(by),
    from: new Date(from).toISOString(),
    step: step / 1000,
    parts: bars,
    limit: NAMED,
  });
