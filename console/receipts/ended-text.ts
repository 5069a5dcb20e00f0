import type { EndedCheck, WatermarkRevocations } from "../../client/answers.d.ts";
import { counted } from "../format.ts";
import type { Preview } from "../tokens/revocation-preview.ts";

type Revocation = WatermarkRevocations["revocations"][number];

/** Largest difference (ms) between the two times of a request that ends all tokens up to now. */
const AT_ONCE_MS = 10_000;

/** True when a request ended only the tokens from before an earlier time, which must be shown then. */
export const isCutOff = (createdBefore: string, time: string): boolean =>
  Date.parse(time) - Date.parse(createdBefore) > AT_ONCE_MS;

/**
 * How many tokens a request has ended: the recorded number, or else the number that was counted before. null: not
 * known.
 *
 * @param goesOn true while more are still to be recorded
 */
export function endedText(
  check: Pick<EndedCheck, "checked" | "next"> | null,
  preview: Pick<Preview, "total"> | null,
  goesOn: boolean,
): string | null {
  if (check !== null && check.checked > 0) {
    const isPart = goesOn || check.next !== "";
    return `${counted(check.checked, "token")}${isPart ? " or more" : ""}`;
  }
  return preview && counted(preview.total, "token");
}

/** How far the clean-up of a revocation is. `goesOn`: it still removes tokens. */
export function cleaningText(
  { entity_id: entity, tokens_left: left }: Pick<Revocation, "entity_id" | "tokens_left">,
  goesOn: boolean,
): string {
  if (!goesOn) return "the map has none of them";
  // The number of a path counts tokens that went with their parents too.
  if (entity === undefined) return "under way: the map may still have some of them";
  return `${counted(left ?? 0, "token")} still on the map, until tidy has taken them off`;
}
