import { useEffect, useState } from "preact/hooks";

/** Largest width of a phone (px), as in the style sheets. */
const NARROW_PX = 560;

/** The width of the window (px), updated when it is resized. */
export function useWindowWidth(): number {
  const [width, setWidth] = useState(window.innerWidth);
  useEffect(() => {
    const note = (): void => setWidth(window.innerWidth);
    note();
    window.addEventListener("resize", note);
    return () => window.removeEventListener("resize", note);
  }, []);
  return width;
}

/** True on a screen with the width of a phone. */
export const isNarrow = (): boolean => window.innerWidth <= NARROW_PX;
