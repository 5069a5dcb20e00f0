import { UNFINISHED } from "../format.ts";

interface TimeInputProps {
  /** As such an input has it; `UNFINISHED` for a part of a time. */
  readonly value: string;
  readonly onTime: (value: string) => void;
  readonly name?: string;
  readonly readOnly?: boolean;
}

/** A date and a time. The browser gives "" for a part of them: the text of the field tells that from an empty one. */
export function TimeInput({ value, onTime, ...more }: TimeInputProps) {
  const read = ({ currentTarget: { validity, value: now } }: { readonly currentTarget: HTMLInputElement }): void => {
    const next = validity.badInput ? UNFINISHED : now;
    if (next !== value) onTime(next);
  };
  return (
    <input
      type="datetime-local"
      {...more}
      value={value === UNFINISHED ? "" : value}
      onInput={read}
      // The browser tells nothing of the parts: they are looked at when somebody is done with the field.
      onBlur={read}
      onKeyDown={(event) => {
        if (event.key === "Enter") read(event);
      }}
    />
  );
}
