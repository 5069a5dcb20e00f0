import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

interface PageHeadProps {
  readonly title: string;
  readonly text?: ComponentChildren;
  /** Buttons. */
  readonly children?: ComponentChildren;
}

/** The title of a page and of its browser tab. */
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

/** Links to the parts of a page, each with its own address. */
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
