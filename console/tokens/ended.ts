import type { Api } from "../api.ts";
import { pathOf } from "../api-path.ts";
import type { Answer } from "../result.ts";
import { CHILDREN, type TokenDetail } from "./token.ts";
import type { EndedToken } from "./token-end.ts";

export interface EndedPage {
  readonly tokens: readonly EndedToken[];
  readonly next: string;
}

/** A token with its lineage; or how it ended, as long as that is kept. */
export const readTokenOrEnd = (api: Api, accessor: string): Promise<Answer<TokenDetail | EndedToken>> =>
  api.read<TokenDetail | EndedToken>(`sys/tokens/${pathOf(accessor)}`, { limit: CHILDREN });

/** What ended lately, the last first; with a job or a cause, of that alone. */
export const listEnded = (
  api: Api,
  query: { readonly job?: string; readonly cause?: string; readonly after?: string; readonly limit?: number },
): Promise<Answer<EndedPage>> => api.read<EndedPage>("sys/tokens/ended", query);
