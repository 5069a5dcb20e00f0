import { Menu } from "../ui/menu.tsx";
import { COLUMNS, type Column } from "./columns.tsx";

interface ColumnChoiceProps {
  readonly shown: readonly Column[];
  readonly onChange: (names: string[]) => void;
}

/** A menu of the columns. */
export function ColumnChoice(props: ColumnChoiceProps) {
  const shown = props.shown.map(({ name }) => name);
  return (
    <Menu title="Columns">
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
    </Menu>
  );
}
