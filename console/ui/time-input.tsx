import { UNFINISHED } from "../format.ts";

interface TimeInputProps {
  /** The value of a datetime-local input; `UNFINISHED` for an incomplete time. */
  readonly value: string;
  readonly onTime: (value: string) => void;
  readonly name?: string;
  readonly readOnly?: boolean;
}

/**
 * An input for a date and a time. The browser's value is "" both for an empty and an incomplete time;
 * `validity.badInput` distinguishes them.
 */
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
      // The browser fires no event for an incomplete time, so the input is read when the user leaves it.
      onBlur={read}
      onKeyDown={(event) => {
        if (event.key === "Enter") read(event);
      }}
    />
  );
}
