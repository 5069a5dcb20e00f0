import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Rows drawn beyond each edge of the screen, so that scrolling shows no gap. */
const SPARE = 30;
/** Up to this number, all rows are drawn. */
const ALL = 200;

/** The range of drawn rows; `end` is exclusive. */
export interface DrawnRows {
  readonly first: number;
  readonly end: number;
}

/**
 * Draws only the rows of a long list that are near the screen, so that the page stays fast with ten thousand rows.
 *
 * @param rowHeight px; all rows have the same height
 */
export function useDrawnRows(body: RefObject<HTMLElement | null>, count: number, rowHeight: number): DrawnRows {
  const [drawn, setDrawn] = useState<DrawnRows>({ first: 0, end: Math.min(count, ALL) });
  useEffect(() => {
    const update = (): void => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / rowHeight) - SPARE);
      const end = Math.min(count, Math.ceil((window.innerHeight - top) / rowHeight) + SPARE);
      setDrawn((before) => (before.first === first && before.end === end ? before : { first, end }));
    };
    if (count <= ALL) return setDrawn({ first: 0, end: count });
    update();
    window.addEventListener("scroll", update, { passive: true });
    window.addEventListener("resize", update);
    return () => {
      window.removeEventListener("scroll", update);
      window.removeEventListener("resize", update);
    };
  }, [body, count, rowHeight]);
  return { first: Math.min(drawn.first, count), end: Math.min(drawn.end, count) };
}
