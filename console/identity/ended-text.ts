import type { EndedCheck } from "../../client/answers.d.ts";
import { counted } from "../format.ts";
import type { Preview } from "../tokens/revocation-preview.ts";

/** A request that ends what was made until now has this little between its two times (ms). */
const AT_ONCE_MS = 10_000;

/** True when a request ended only tokens from before a time that had passed: that time says more than its own. */
export const isCutOff = (createdBefore: string, time: string): boolean =>
  Date.parse(time) - Date.parse(createdBefore) > AT_ONCE_MS;

/**
 * How many tokens a request has ended: as they are recorded, or else as they were counted before. null: not known.
 *
 * @param goesOn true while there are others that are not recorded yet
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
