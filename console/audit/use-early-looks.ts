import { useCallback, useState } from "preact/hooks";
import { type Loaded, usePolling } from "../ui/index.ts";

/** Looks for an event that is not stored yet, and the pause between two (ms). */
const EARLY_LOOKS = 6;
const LOOK_MS = 2_000;

/** Looks some times again for the event of a request. True while it may still come. */
export function useEarlyLooks(found: Loaded<unknown>, isFound: boolean): boolean {
  const [looks, setLooks] = useState(0);
  const isEarly = found.value !== null && !isFound && looks < EARLY_LOOKS;
  const look = useCallback(() => {
    setLooks((before) => before + 1);
    found.reload();
  }, [found.reload]);
  usePolling(isEarly, look, LOOK_MS);
  return isEarly;
}
