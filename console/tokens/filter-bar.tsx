import { useState } from "preact/hooks";
import { localTime, queryTime, ZONE } from "../format.ts";
import { hasToken } from "../secret-like.ts";
import { Field, Icon, isNarrow, useDraft } from "../ui/index.ts";
import { FILTER_FIELDS, type Filter, type FilterField, linesOfPairs, MAIN_FIELDS, pairsOfLines } from "./filter.ts";
import { SearchField } from "./search-field.tsx";

interface FilterBarProps {
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
}

/** The filters of the inventory. They apply at Enter, or when the field loses the focus. */
export function FilterBar({ filter, onChange }: FilterBarProps) {
  // A narrow screen hides all of them.
  const hidden = FILTER_FIELDS.filter(({ name, kind }) => kind !== "search" && (isNarrow() || !MAIN_FIELDS.has(name)));
  const [open, setOpen] = useState(() => hidden.some(({ name }) => filter[name] !== undefined));
  const set = (name: string, value: string): void => {
    if ((filter[name] ?? "") !== value) onChange({ ...filter, [name]: value });
  };
  const fields = FILTER_FIELDS.filter(({ name, kind }) => kind !== "search" && (open || MAIN_FIELDS.has(name)));
  return (
    <form class={open ? "filters" : "filters folded"} aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <div class="wide-field">
        <SearchField value={filter.search ?? ""} onChange={(value) => set("search", value)} />
      </div>
      {fields.map((field) => (
        <FilterInput
          key={field.name}
          field={field}
          value={filter[field.name] ?? ""}
          onChange={(value) => set(field.name, value)}
        />
      ))}
      <div class="row filter-actions">
        <button type="button" class="button plain" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Fewer filters" : "More filters"}
        </button>
        {Object.keys(filter).length > 0 && (
          <button type="button" class="button plain" onClick={() => onChange({})}>
            <Icon name="close" size={13} /> Clear
          </button>
        )}
      </div>
    </form>
  );
}

interface FilterInputProps {
  readonly field: FilterField;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function FilterInput({ field, value, onChange }: FilterInputProps) {
  const isPairs = field.kind === "pairs";
  const [typed, change] = useDraft(isPairs ? pairsOfLines(value) : value);
  const isToken = hasToken(typed);
  const send = (): void => {
    if (!isToken) onChange(isPairs ? linesOfPairs(typed) : typed.trim());
  };
  if (field.kind === "flag") {
    return (
      <Field label={field.label}>
        <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">either</option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      </Field>
    );
  }
  if (field.kind === "time") {
    return (
      <Field label={`${field.label}, ${ZONE}`}>
        <input
          type="datetime-local"
          value={localTime(value)}
          onChange={(event) => onChange(queryTime(event.currentTarget.value))}
        />
      </Field>
    );
  }
  return (
    <Field label={field.label} wrong={isToken ? "This looks like a token: the search above says what it is" : ""}>
      <input
        type="search"
        value={typed}
        placeholder={field.placeholder}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => change(() => currentTarget.value)}
        onChange={send}
        onKeyDown={(event) => {
          if (event.key === "Enter") send();
        }}
      />
    </Field>
  );
}
