import type { AuthMounts, TokenSummary } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { href, pathOf } from "../href.ts";
import type { Scope } from "../records/part.ts";
import { type Answer, done } from "../result.ts";

export type Mount = AuthMounts[string];

/** Numbers of tokens by the path of their mount. */
export async function tokensOfMounts(api: Api): Promise<Answer<ReadonlyMap<string, number>>> {
  const summary = await api.read<TokenSummary>("sys/tokens/summary", { group_by: "mount" });
  if (!summary.ok) return summary;
  return done(new Map(summary.value.groups.map(({ key, count }) => [key, count] as const)));
}

const encoded = (path: string): string => pathOf(...path.replace(/\/$/, "").split("/"));

/** The endpoint of something below an auth mount. */
export const belowMount = (mount: string, path: string, name?: string): string =>
  `auth/${encoded(mount)}/${path}${name === undefined ? "" : `/${pathOf(name)}`}`;

/** The endpoint of a mount itself, or of its tuning. */
export const ofMount = (mount: string, what: "" | "tune" = ""): string =>
  `sys/auth/${encoded(mount)}${what === "" ? "" : "/tune"}`;

export const scopeOfMount = (mount: string): Scope => ({
  name: mount,
  mount,
  endpoint: (path, name) => belowMount(mount, path, name),
  page: (query) => href(["methods", mount], query),
});
