import type { CallContext } from "../../auth/route.ts";
import { readTeamId, readTokenId } from "../../team/ids.ts";

/** The types that documents about a token may have. */
export const TOKEN_TYPES = ["authentication-token", "authentication-tokens"];

/** The team of the id in a path, which is of a token or of a team. `tokenId` is "" for a team. */
export async function readEitherId({
  installation,
  params,
}: Pick<CallContext<unknown, unknown>, "installation" | "params">): Promise<{
  readonly route: string | null;
  readonly tokenId: string;
}> {
  const id = params.id ?? "";
  const route = await readTokenId(installation.keys, id);
  if (route !== null) return { route, tokenId: id };
  return { route: await readTeamId(installation.keys, id), tokenId: "" };
}
