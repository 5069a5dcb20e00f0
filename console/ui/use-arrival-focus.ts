import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Elements in which the user may be typing. */
const TYPED = "input:not([type=checkbox]):not([type=radio]), textarea, select";

/**
 * Focuses a field that appears in an open dialog: the browser applies `autofocus` only when it opens a dialog. A field
 * in which the user is typing keeps the focus.
 */
export function useArrivalFocus(isWanted: boolean): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const isLate = field.current?.closest("dialog")?.open === true;
    if (isWanted && isLate && !document.activeElement?.matches(TYPED)) field.current?.focus();
  }, [isWanted]);
  return field;
}
