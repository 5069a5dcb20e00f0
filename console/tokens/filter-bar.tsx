import { useEffect, useRef, useState } from "preact/hooks";
import { localTime, queryTime, UNFINISHED, WHOLE_TIME, ZONE } from "../format.ts";
import { refusalOfParts, TOKEN_TYPED } from "../search/secret-in-address.ts";
import { hasToken } from "../secret-detection.ts";
import { useSession } from "../session.ts";
import { Field, Icon, isNarrow, TimeInput, useDraft } from "../ui/index.ts";
import { useEntityNames } from "../use-names.ts";
import {
  FILTER_FIELDS,
  type Filter,
  type FilterField,
  filterMistake,
  linesOfPairs,
  MAIN_FIELDS,
  pairsOfLines,
  refusedFilter,
  valuesOfPairs,
} from "./filter.ts";
import { SearchField } from "./search-field.tsx";

interface FilterBarProps {
  readonly filter: Filter;
  /** Why the server refused the filter; empty when it did not. */
  readonly refusal: readonly string[];
  readonly onChange: (filter: Filter) => void;
}

/** The filters of the inventory. They apply on Enter, or when the field loses the focus. */
export function FilterBar({ filter, refusal, onChange }: FilterBarProps) {
  // A narrow screen hides all filters.
  const hidden = FILTER_FIELDS.filter(({ name, kind }) => kind !== "search" && (isNarrow() || !MAIN_FIELDS.has(name)));
  const [open, setOpen] = useState(() => hidden.some(({ name }) => filter[name] !== undefined));
  const set = (name: string, value: string): void => {
    if ((filter[name] ?? "") !== value) onChange({ ...filter, [name]: value });
  };
  const refused = refusedFilter(refusal);
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
          refusal={refused === field.name ? refusal.join(" ") : ""}
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
  readonly refusal: string;
  readonly field: FilterField;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function FilterInput(props: FilterInputProps) {
  const { field, value, onChange } = props;
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
  return field.kind === "time" ? <FilterTime {...props} /> : <FilterText {...props} />;
}

function FilterTime({ field, value, onChange }: FilterInputProps) {
  const [typed, change] = useDraft(localTime(value));
  return (
    <Field label={`${field.label}, ${ZONE}`} wrong={typed === UNFINISHED ? WHOLE_TIME : ""}>
      <TimeInput
        value={typed}
        onTime={(next) => {
          change(() => next);
          // An incomplete time neither sets nor removes a filter.
          if (next !== UNFINISHED) onChange(queryTime(next));
        }}
      />
    </Field>
  );
}

function FilterText({ field, value, refusal, onChange }: FilterInputProps) {
  const session = useSession();
  const isPairs = field.kind === "pairs";
  const [typed, change] = useDraft(isPairs ? pairsOfLines(value) : value);
  const [refused, setRefused] = useState("");
  const entity = useEntityNames(field.name === "entity_id" && value !== "" ? [value] : []).get(value);
  /** The text that the server is being asked about. An answer for an older text is ignored. */
  const asked = useRef<string | null>(null);
  const leave = (): void => {
    asked.current = null;
  };
  useEffect(() => leave, []);
  const send = async (): Promise<void> => {
    const next = isPairs ? linesOfPairs(typed) : typed.trim();
    // Both Enter and the loss of the focus submit the text.
    if (next === value || next === asked.current) return;
    const mistake = filterMistake(field, typed);
    if (mistake !== "") return setRefused(mistake);
    asked.current = next;
    const found = await refusalOfParts(session, isPairs ? valuesOfPairs(next) : [next]);
    if (asked.current !== next) return;
    asked.current = null;
    setRefused(found);
    if (found === "") onChange(next);
  };
  return (
    <Field label={field.label} hint={entity} wrong={hasToken(typed) ? TOKEN_TYPED : refused || refusal}>
      <input
        type="search"
        value={typed}
        placeholder={field.placeholder}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => {
          const { value: now } = currentTarget;
          leave();
          setRefused("");
          change(() => now);
        }}
        onChange={send}
        onKeyDown={(event) => {
          if (event.key === "Enter") send();
        }}
      />
    </Field>
  );
}
