import { newEntry } from "../listing/inventory/entry.ts";
import type { Ending } from "../listing/inventory/shard/ended.ts";
import { storedJson } from "../storage/tables.ts";
import type { Watermarks } from "../system/watermarks.ts";
import { type EndRecord, earliestEnd, expiry, watermarkEnd } from "../token/end-record.ts";
import { withThoseAbove } from "./lineage.ts";
import type { TokenRow } from "./token-rows.ts";
import type { TreeStore } from "./tree-store.ts";

/** How a token ended that waits for the sweep; null while it is alive. `now` in ms. */
export function unsweptEnd(tokens: TreeStore, watermarks: Watermarks, token: TokenRow, now: number): Ending | null {
  const ends: (EndRecord | null)[] = [];
  for (const one of withThoseAbove(tokens, token, now)) {
    ends.push(one.ended === null ? null : storedJson<EndRecord>(one.ended));
    ends.push(expiry(one.expires_at, one.fixed.accessor, now));
    ends.push(watermarkEnd(watermarks, one.fixed, now));
  }
  const end = earliestEnd(ends);
  return end && endingOf(tokens, token, end);
}

/** The end of a token of the tree, with its inventory entry. */
export function endingOf(
  tokens: TreeStore,
  { fixed, parent, expires_at: expiresAt }: TokenRow,
  end: EndRecord,
): Ending {
  const { record, accessor } = fixed;
  const above = parent === null ? null : tokens.accessorOf(parent);
  return { accessor, end, entry: newEntry({ record, expiresAt }, accessor, above) };
}
