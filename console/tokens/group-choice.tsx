import { GROUP_FIELDS, type GroupBy, metadataKey } from "./grouping.ts";

/** True for a key of metadata that is called like a field. */
const isField = (key: string): boolean => GROUP_FIELDS.some(([, label]) => label.toLowerCase() === key.toLowerCase());

interface GroupChoiceProps {
  readonly by: GroupBy;
  /** Keys of metadata that tokens of the page have. */
  readonly keys: readonly string[];
  /** A first choice without groups. */
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
