import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

interface MenuProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

/** A menu below a button. It closes at Escape, and when the focus leaves it. */
export function Menu({ title, children }: MenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => {
    if (menu.current) menu.current.open = false;
  };
  return (
    <details
      class="menu"
      ref={menu}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget instanceof Node && !menu.current?.contains(relatedTarget)) close();
      }}
      onKeyDown={({ key }) => {
        if (key !== "Escape") return;
        close();
        menu.current?.querySelector("summary")?.focus();
      }}
    >
      <summary class="button">{title}</summary>
      <div class="card">{children}</div>
    </details>
  );
}
