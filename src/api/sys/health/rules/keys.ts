import type { Ms, Seconds } from "../../../../base/clock.ts";
import { MAX_KEY_TERMS } from "../../../../system/key-rotation.ts";
import { attention, type Finding, failing, good, spanText } from "../finding.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * @param version of the seal key that wraps the key ring.
 * @param current version of the seal key of the deployment; null: it is not known.
 * @param hasPrevious true while the previous seal key is set beside the current one.
 */
export function judgeSealKey(version: number, current: number | null, hasPrevious: boolean): Finding {
  const seen = `version ${version} wraps the key ring`;
  if (!hasPrevious) return good(seen);
  const link = "docs/operations.md#rotating-the-seal-key";
  // Without the previous key a ring that it wraps can't be opened.
  if (version !== current)
    return attention(
      `${seen}, not ${current === null ? "the new one" : `version ${current}`} yet`,
      "Keep GROVE_SEAL_KEY_PREVIOUS, and check again in some seconds.",
      link,
    );
  return attention(
    `${seen}, and the previous key is still set`,
    "The rotation is complete: remove GROVE_SEAL_KEY_PREVIOUS.",
    link,
  );
}

interface KeyFacts {
  readonly term: number;
  readonly installedAt: Ms;
  /** Terms that are kept. */
  readonly kept: number;
  readonly isAutomatic: boolean;
  readonly interval: Seconds;
}

export function judgeKeys({ term, installedAt, kept, isAutomatic, interval }: KeyFacts, now: Ms): Finding {
  const age = now - installedAt;
  const seen = `term ${term} is ${spanText(age)} old, ${kept} of at most ${MAX_KEY_TERMS} terms are kept`;
  const link = "docs/operations.md#rotating-the-keys";
  if (kept >= MAX_KEY_TERMS - 2) {
    return attention(seen, "Rotate less often: tidy drops a term when nothing needs it any more.", link);
  }
  if (isAutomatic && interval > 0 && age > interval * 1000 + DAY_MS) {
    return attention(`${seen}; a new one was due after ${spanText(interval * 1000)}`, "See why none began.", link);
  }
  return good(seen);
}

/** @param rotation when the first signing key is due for its rotation; null without a key. */
export function judgeIssuer(rotation: Ms | null, now: Ms): Finding {
  if (rotation === null) return good("no signing keys");
  if (now - rotation > HOUR_MS) {
    const seen = `the rotation of a signing key is ${spanText(now - rotation)} late`;
    return failing(
      seen,
      "Rotate it by hand, and look for issuer_rotation in the log.",
      "docs/issuer.md#keys-and-their-rotation",
    );
  }
  return good(`the next rotation of a signing key is in ${spanText(Math.max(0, rotation - now))}`);
}
