import { UNASKED } from "../system/end-request.ts";
import { endingWatermark, type Watermark, type Watermarks } from "../system/watermarks.ts";
import type { EndRecord } from "../token/end-record.ts";
import type { TokenRow } from "./token-rows.ts";

/** The end by a watermark, from the moment on that it was made; null: one that is not known. `now` in ms. */
export function endByWatermark(mark: Watermark | null, now: number): Omit<EndRecord, "cause"> {
  // The number of a watermark is the time of its making, or follows that of another.
  const at = mark ? Math.min(mark.number, now) : now;
  return { ...(mark?.asked ?? UNASKED), at, how: "revoked by path or entity" };
}

/** How a watermark ended a token, which may have no mark of it yet; null when none did. `now` in ms. */
export function watermarkEnd(watermarks: Watermarks, { fixed }: TokenRow, now: number): EndRecord | null {
  const mark = endingWatermark(watermarks, fixed.record);
  return mark && { ...endByWatermark(mark, now), cause: fixed.accessor };
}
