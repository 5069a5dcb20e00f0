import { type Api, pathOf } from "../api.ts";
import type { Answer } from "../result.ts";
import type { Branch, ForestMap } from "./map.ts";

export const readMap = (api: Api): Promise<Answer<ForestMap>> => api.read<ForestMap>("sys/tokens/map");

export const readBranch = (api: Api, accessor: string): Promise<Answer<Branch & { readonly more: boolean }>> =>
  api.read(`sys/tokens/${pathOf(accessor)}/tree`);
