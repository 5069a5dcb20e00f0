import type { WatermarkRevocations } from "../../client/answers.d.ts";

type Revocation = WatermarkRevocations["revocations"][number];

/** How far the clean-up behind a revocation is, in words. */
export function cleanUpText({
  entity_id: entity,
  clean_up: state,
  tokens_left: left,
}: Pick<Revocation, "prefix" | "entity_id" | "clean_up" | "tokens_left">): string {
  // The number of a path counts tokens that went with their parents too: only its state says that it is over.
  if (entity === undefined) return state;
  // The tokens are swept, but the tidy run that reports that has not ended, or another run swept them.
  return left === 0 && state !== "finished" ? "done, as far as the map shows" : state;
}
