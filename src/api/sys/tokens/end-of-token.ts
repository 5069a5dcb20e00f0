import { formatRfc3339 } from "../../../base/clock.ts";
import type { Env } from "../../../env.ts";
import type { EndedToken } from "../../../listing/inventory/ended-tokens.ts";
import { findEnded } from "../../../listing/inventory/queries.ts";
import type { Actor } from "../../../system/revocation-origin.ts";
import { type AccessorCredential, routedIdText } from "../../../token/ids.ts";
import { treeAt } from "../../../token/tree-stub.ts";
import { type Shape, view } from "../../../wire/view.ts";

/** The token that made a request. Null: no token made it, or it is not known. */
export const ACTOR: Shape = ["or null", { accessor: "string", display_name: "string", entity_id: "string" }];

/** The end of a token. `others` is the number of tokens that ended with it; absent where it was not counted. */
export const END_VIEW = view<Pick<EndedToken, "end" | "token"> & { readonly others?: number }>({
  at: ["string", ({ end }) => formatRfc3339(end.at)],
  how: [
    "string",
    ({ token, end }) =>
      end.cause === token.accessor ? end.how : `${end.how === "revoked" ? "revoked" : "ended"} with its parent`,
  ],
  by: [ACTOR, ({ end }) => actorObject(end.by)],
  cause: ["string", ({ end }) => end.cause],
  request_id: ["string", ({ end }) => end.request],
  request_path: ["string", ({ end }) => end.path ?? ""],
  job: ["string", ({ end }) => end.job],
  "with?": ["integer", ({ others }) => others],
});

/** The value of an `ACTOR`. */
export function actorObject(actor: Actor | null): Record<string, string> | null {
  return actor && { accessor: actor.accessor, display_name: actor.displayName, entity_id: actor.entityId };
}

/**
 * Finds the record of a token that is not alive: the list stores it (`isKept`), or its tree until the sweep deletes the
 * token. Null: there is none.
 */
export async function endOfToken(
  env: Env,
  { treeId, row, tail }: AccessorCredential,
): Promise<(Pick<EndedToken, "token" | "end"> & { readonly isKept: boolean }) | null> {
  const inList = async () => {
    const kept = await findEnded(env, routedIdText(treeId, row, tail));
    return kept && { ...kept, isKept: true };
  };
  const kept = await inList();
  if (kept) return kept;
  const inTree = await treeAt(env, treeId).unsweptEnd({ by: "accessor", row, tail });
  if (inTree?.entry) return { token: { ...inTree.entry, id: row }, end: inTree.end, isKept: false };
  // A sweep may have moved the record to the list meanwhile.
  return inList();
}
