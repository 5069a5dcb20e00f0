import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface ScrollProps {
  /** What is in it, for a screen reader. */
  readonly label: string;
  readonly children: ComponentChildren;
}

/** Scrolls sideways what is wider than the page. Only then the keyboard stops at it. */
export function Scroll({ label, children }: ScrollProps) {
  const element = useRef<HTMLDivElement>(null);
  const [isWider, setIsWider] = useState(false);
  useLayoutEffect(() => {
    const frame = element.current;
    if (!frame) return;
    const observer = new ResizeObserver(() => setIsWider(frame.scrollWidth > frame.clientWidth));
    observer.observe(frame);
    for (const child of frame.children) observer.observe(child);
    return () => observer.disconnect();
  }, []);
  const stop = isWider ? ({ tabIndex: 0, role: "region", "aria-label": `${label}, all columns` } as const) : {};
  return (
    <div class="scroll" ref={element} {...stop}>
      {children}
    </div>
  );
}
