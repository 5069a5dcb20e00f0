import { type ComponentChildren, Fragment } from "preact";

/** Values by their names; false, null and undefined are left out. */
export type FactRows = Readonly<Record<string, ComponentChildren>>;

const shown = (rows: FactRows): [string, ComponentChildren][] =>
  Object.entries(rows).filter(([, value]) => value !== false && value !== null && value !== undefined);

interface FactsProps {
  readonly rows: FactRows;
  /** True for the only content of a card. */
  readonly body?: boolean;
  /** True to announce changes to screen readers. */
  readonly live?: boolean;
  readonly label?: string;
}

/** Names with their values, one below the other. */
export function Facts({ rows, body = false, live = false, label }: FactsProps) {
  return (
    <dl class={body ? "facts body" : "facts"} aria-live={live ? "polite" : undefined} aria-label={label}>
      {shown(rows).map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** A few large values, side by side; the first is marked with `isWarning`. */
export function Figures({ rows, isWarning = false }: { readonly rows: FactRows; readonly isWarning?: boolean }) {
  return (
    <dl class={isWarning ? "figures blast" : "figures"}>
      {shown(rows).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
