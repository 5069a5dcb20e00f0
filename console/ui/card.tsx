import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { Loading } from "./loading.tsx";
import type { Loaded } from "./use-load.ts";

interface CardProps {
  readonly title: ComponentChildren;
  /** Content to the right of the title: buttons, a number or a remark. */
  readonly beside?: ComponentChildren;
  /** Loaded data of the content. Until it is there, the card shows that it is loading, or why it failed. */
  readonly of?: Loaded<unknown>;
  /** True for content with a margin (a table has none). */
  readonly body?: boolean;
  readonly children?: ComponentChildren;
}

/** A part of a page with a title. */
export function Card({ title, beside, of, body = false, children }: CardProps) {
  const id = useId();
  const isPending = of !== undefined && (of.problem !== null || (of.value === null && of.busy));
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {beside}
      </header>
      {(body || isPending) && (
        <div class="body stack">
          {of && <Loading of={of} />}
          {body && children}
        </div>
      )}
      {!body && children}
    </section>
  );
}
