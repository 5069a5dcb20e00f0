import type { AuthMounts, TokenSummary } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { href } from "../href.ts";
import type { Scope } from "../records/part.ts";
import type { Answer } from "../result.ts";
import { belowMount } from "./mount-paths.ts";

export type Mount = AuthMounts[string];

/** Numbers of tokens by the path of their mount. */
export const tokensOfMounts = (api: Api): Promise<Answer<TokenSummary>> =>
  api.read("sys/tokens/summary", { group_by: "mount" });

export const scopeOfMount = (mount: string): Scope => ({
  name: mount,
  mount,
  endpoint: (path, name) => belowMount(mount, path, name),
  page: (query) => href(["methods", mount], query),
});
