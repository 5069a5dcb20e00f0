import type { TokenMap } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { pathOf } from "../href.ts";
import type { Answer } from "../result.ts";
import type { Branch } from "./token-map.ts";

/** @param groupBy the grouping, as the API calls it; "" for none */
export const readMap = (api: Api, groupBy: string): Promise<Answer<TokenMap>> =>
  api.read<TokenMap>("sys/tokens/map", { group_by: groupBy });

export const readBranch = (api: Api, accessor: string): Promise<Answer<Branch & { readonly more: boolean }>> =>
  api.read(`sys/tokens/${pathOf(accessor)}/tree`);
