import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

interface PageHeadProps {
  readonly title: string;
  readonly text?: ComponentChildren;
  /** Buttons. */
  readonly children?: ComponentChildren;
}

/**
 * Sets the title of the browser tab while it is rendered; "" leaves the title as it is. The title of a page's part is
 * followed by the page's own.
 */
export function useTabTitle(title: string): void {
  useEffect(() => {
    if (title === "") return;
    const before = document.title;
    const own = `${title} · Grove`;
    document.title = own;
    return () => {
      if (document.title === own) document.title = before;
    };
  }, [title]);
}

/** The title of a page and of its browser tab. */
export function PageHead({ title, text, children }: PageHeadProps) {
  useTabTitle(title);
  return (
    <div class="page-head">
      <div>
        <h1 class="break">{title}</h1>
        {text && <p>{text}</p>}
      </div>
      {children && <div class="row">{children}</div>}
    </div>
  );
}

interface TabsProps {
  readonly label: string;
  readonly current: string;
  readonly tabs: readonly { readonly name: string; readonly title: string; readonly href: string }[];
}

/** Links to the parts of a page, each with its own URL. */
export function Tabs({ label, current, tabs }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ name, title, href }) => (
        <a key={name} href={href} aria-current={name === current ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
