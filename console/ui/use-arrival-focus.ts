import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Fields that the user may be typing in. */
const TYPED = "input:not([type=checkbox]):not([type=radio]), textarea, select";

/**
 * Gives the focus to a field that appears in a dialog which is open already: the browser looks for `autofocus` only when
 * it opens one. A field that the user is typing in keeps the focus.
 */
export function useArrivalFocus(isWanted: boolean): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const isLate = field.current?.closest("dialog")?.open === true;
    if (isWanted && isLate && !document.activeElement?.matches(TYPED)) field.current?.focus();
  }, [isWanted]);
  return field;
}
