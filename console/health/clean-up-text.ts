import type { WatermarkRevocations } from "../../client/answers.d.ts";

type Revocation = WatermarkRevocations["revocations"][number];

/** How far the clean-up behind a revocation is, in words. */
export function cleanUpText({
  clean_up: state,
  tokens_left: left,
}: Pick<Revocation, "clean_up" | "tokens_left">): string {
  // The tokens are swept, but the tidy run that reports that has not ended, or another run swept them.
  return left === 0 && state !== "finished" ? "done, as far as the map shows" : state;
}
