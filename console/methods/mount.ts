import type { AuthMounts, TokenSummary } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { href } from "../href.ts";
import type { Scope } from "../records/part.ts";
import { type Answer, done } from "../result.ts";
import { belowMount } from "./mount-paths.ts";

export type Mount = AuthMounts[string];

/** Numbers of tokens by the path of their mount. */
export async function tokensOfMounts(api: Api): Promise<Answer<ReadonlyMap<string, number>>> {
  const summary = await api.read<TokenSummary>("sys/tokens/summary", { group_by: "mount" });
  if (!summary.ok) return summary;
  return done(new Map(summary.value.groups.map(({ key, count }) => [key, count] as const)));
}

export const scopeOfMount = (mount: string): Scope => ({
  name: mount,
  mount,
  endpoint: (path, name) => belowMount(mount, path, name),
  page: (query) => href(["methods", mount], query),
});
