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
