import { isMeant } from "./filter.ts";
import type { Selection, Token } from "./model.ts";

/** How long a revocation is remembered: its rows are swept by then, or the server lists them again. */
const KEPT_MS = 600_000;

/** What this console revoked lately. */
let revocations: readonly { readonly selection: Selection; readonly at: number }[] = [];

/** Remembers a revocation, so that pages show what goes. `now` in ms. */
export function noteRevocation(selection: Selection, now = Date.now()): void {
  revocations = [...revocations.filter(({ at }) => now - at < KEPT_MS), { selection, at: now }];
}

/** Whether a revocation of this console meant the token. If so, it is refused, and listed only until the sweep. */
export function isGoing(token: Token | null, now = Date.now()): boolean {
  if (token === null) return false;
  return revocations.some(
    ({ selection, at }) => now - at < KEPT_MS && Date.parse(token.created) <= at && isMeant(selection, token),
  );
}
