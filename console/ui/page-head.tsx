import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

interface PageHeadProps {
  readonly title: string;
  readonly text?: ComponentChildren;
  /** Buttons. */
  readonly children?: ComponentChildren;
}

/** The top of a page; its title is that of the tab too. */
export function PageHead({ title, text, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} · Grove`;
  }, [title]);
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

/** Parts of a page, each at an address of its own. */
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
