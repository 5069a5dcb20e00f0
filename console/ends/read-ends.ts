import type { EndingTokens } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import type { Answer } from "../result.ts";
import { counterName, type GroupBy } from "../tokens/grouping.ts";
import { NAMED } from "./ending-groups.ts";
import { iso, type Span } from "./time-span.ts";

/** The numbers of ending tokens by group and bar of a span. */
export const readEnds = (api: Api, { from, step, bars }: Span, by: GroupBy): Promise<Answer<EndingTokens>> =>
  api.read<EndingTokens>("sys/tokens/ends", {
    group_by: counterName(by),
    from: iso(from),
    step: step / 1000,
    parts: bars,
    limit: NAMED,
  });
