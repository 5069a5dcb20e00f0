import { useCallback, useMemo } from "preact/hooks";
import { isBeingSwept } from "../tokens/recent-revocations.ts";
import { usePolling } from "../ui/index.ts";
import { goes, type Item } from "./token-map.ts";

const REFRESH_MS = 10_000;
/** Interval of reloads while tokens on the map are swept (ms). */
const FOLLOW_MS = 1_000;

/** Reloads the map regularly, and more often while something on it is swept. */
export function useRefresh(reload: () => void, items: readonly Item[]): void {
  const isSwept = useMemo(() => items.some(isMoving), [items]);
  const reloadShown = useCallback(() => !document.hidden && reload(), [reload]);
  usePolling(true, reloadShown, isSwept ? FOLLOW_MS : REFRESH_MS);
}

/** True while a sweep is running. Tokens that wait for a tidy run can wait for hours, and do not count. */
const isMoving = (item: Item): boolean =>
  goes(item, (token) => isBeingSwept(token)) || (item.items ?? item.joined ?? []).some(isMoving);
