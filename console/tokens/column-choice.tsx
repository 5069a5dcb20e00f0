import { useRef } from "preact/hooks";
import { COLUMNS, type Column } from "./columns.tsx";

interface ColumnChoiceProps {
  readonly shown: readonly Column[];
  readonly onChange: (names: string[]) => void;
}

/** A menu of the columns. Escape closes it, and whatever else gets the focus. */
export function ColumnChoice(props: ColumnChoiceProps) {
  const shown = props.shown.map(({ name }) => name);
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
      <summary class="button">Columns</summary>
      <div class="card">
        {COLUMNS.slice(1).map(({ name, label }) => (
          <label key={name} class="check">
            <input
              type="checkbox"
              checked={shown.includes(name)}
              onChange={() =>
                props.onChange(shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name])
              }
            />
            {label}
          </label>
        ))}
      </div>
    </details>
  );
}
