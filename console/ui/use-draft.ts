import { useState } from "preact/hooks";

/**
 * A draft of a loaded value, which restarts when another value is loaded.
 *
 * An effect that copies the loaded value would run after the first paint, and overwrite what was typed by then.
 *
 * @param loaded a string or a JSON value: values are compared as JSON
 */
export function useDraft<T>(loaded: T): [typed: T, change: (next: (typed: T) => T) => void] {
  const key = JSON.stringify(loaded);
  const [draft, setDraft] = useState({ key, typed: loaded });
  if (draft.key !== key) setDraft({ key, typed: loaded });
  const change = (next: (typed: T) => T): void =>
    setDraft((now) => ({ key, typed: next(now.key === key ? now.typed : loaded) }));
  return [draft.key === key ? draft.typed : loaded, change];
}
