import { GROUP_FIELDS, type GroupBy, metadataKey } from "./grouping.ts";

/** True when a metadata key has the same name as a field. */
const isField = (key: string): boolean => GROUP_FIELDS.some(([, label]) => label.toLowerCase() === key.toLowerCase());

interface GroupChoiceProps {
  readonly by: GroupBy;
  /** Metadata keys of the page's tokens. */
  readonly keys: readonly string[];
  /** A first choice for no grouping. */
  readonly none?: readonly [value: string, label: string];
  readonly onChange: (by: GroupBy) => void;
}

/** The choice of a grouping. */
export function GroupChoice({ by, keys, none, onChange }: GroupChoiceProps) {
  const chosen = metadataKey(by);
  const shown = [...new Set([...keys, ...(chosen === undefined ? [] : [chosen])])].sort();
  return (
    <select
      class="group-choice"
      aria-label="Group by"
      value={by}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {none && <option value={none[0]}>{none[1]}</option>}
      {GROUP_FIELDS.map(([value, label]) => (
        <option key={value} value={value}>
          By {label.toLowerCase()}
        </option>
      ))}
      {shown.map((key) => (
        <option key={key} value={`metadata.${key}`}>
          By {isField(key) ? `${key} in metadata` : key}
        </option>
      ))}
    </select>
  );
}
