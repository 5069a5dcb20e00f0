import type { Token } from "../../client/answers.d.ts";
import { isMeant } from "./filter.ts";
import type { Selection } from "./model.ts";

/** How long a revocation is remembered (ms): its rows are swept by then. */
const KEPT_MS = 600_000;

/** Recent revocations of this console. */
let revocations: readonly { readonly selection: Selection; readonly at: number }[] = [];

/** Remembers a revocation, so that pages mark its tokens. `now` in ms. */
export function noteRevocation(selection: Selection, now = Date.now()): void {
  revocations = [...revocations.filter(({ at }) => now - at < KEPT_MS), { selection, at: now }];
}

/** True for a token that this console revoked: it is refused, and listed only until the sweep. */
export function isGoing(token: Token | null, now = Date.now()): boolean {
  if (token === null) return false;
  return revocations.some(
    ({ selection, at }) => now - at < KEPT_MS && Date.parse(token.created) <= at && isMeant(selection, token),
  );
}
