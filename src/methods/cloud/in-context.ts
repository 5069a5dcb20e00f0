import { type Failure, invalid } from "../../base/errors.ts";

/** A failure with the step that it happened in before its message. */
export function inContext(step: string, failure: Failure): Failure {
  if (failure.code === "unavailable") return { ...failure, message: `${step}: ${failure.message}` };
  return "message" in failure ? invalid(`${step}: ${failure.message}`) : failure;
}
