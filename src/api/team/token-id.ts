import type { CallContext } from "../../auth/route.ts";
import { readTeamId, readTokenId } from "../../team/ids.ts";

/** The types that documents about a token may have. */
export const TOKEN_TYPES = ["authentication-token", "authentication-tokens"];

/** Where a token is. */
export interface TokenPlace {
  /** Of its team; null when the id is of neither a token nor a team. */
  readonly route: string | null;
  /** "" for the token of the team that has no description. */
  readonly tokenId: string;
}

/** The token of the id in a path, which is its own or its team's. */
export async function readEitherId({
  installation,
  params,
}: Pick<CallContext<unknown, unknown>, "installation" | "params">): Promise<TokenPlace> {
  const id = params.id ?? "";
  const route = await readTokenId(installation.keys, id);
  if (route !== null) return { route, tokenId: id };
  return { route: await readTeamId(installation.keys, id), tokenId: "" };
}
