import type { Api } from "../api.ts";
import { type Answer, done } from "../result.ts";
import type { Summary } from "../tokens/summary.ts";

/** How many tokens came by each mount, by the path of the mount. */
export async function tokensOfMounts(api: Api): Promise<Answer<ReadonlyMap<string, number>>> {
  const summary = await api.read<Summary>("sys/tokens/summary", { group_by: "mount" });
  if (!summary.ok) return summary;
  return done(new Map(summary.value.groups.map(({ key, count }) => [key, count] as const)));
}
