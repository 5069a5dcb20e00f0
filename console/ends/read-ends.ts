import type { EndingTokens } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import type { Answer } from "../result.ts";
import { counterName, type GroupBy } from "../tokens/grouping.ts";
import type { Span } from "./time-span.ts";

/** Groups that are named. */
const NAMED = 50;

/** The ends in a span by group, a part for each bar. */
export const readEnds = (api: Api, { from, step, bars }: Span, by: GroupBy): Promise<Answer<EndingTokens>> =>
  api.read<EndingTokens>("sys/tokens/ends", {
    group_by: counterName(by),
    from: new Date(from).toISOString(),
    step: step / 1000,
    parts: bars,
    limit: NAMED,
  });
