import { useState } from "preact/hooks";

/**
 * The validation of a form at `submit`. A disabled button would not say why: instead, the attempt marks the mistakes and
 * focuses the first such field.
 *
 * @returns whether the last attempt was refused, and the function to call at `submit`, which returns true when the form may
 *   be sent
 */
export function useTried(): readonly [tried: boolean, attempt: (event: Event, isRight: boolean) => boolean] {
  const [tried, setTried] = useState(false);
  const attempt = (event: Event, isRightSoFar: boolean): boolean => {
    event.preventDefault();
    const isRight = isRightSoFar && !hasBadInput(event.currentTarget);
    setTried(!isRight);
    if (!isRight) focusWrong(event.currentTarget);
    return isRight;
  };
  return [tried, attempt];
}

/** True when a field of the form has incomplete input, such as a part of a date, whose value is "". */
const hasBadInput = (form: EventTarget | null): boolean =>
  form instanceof HTMLFormElement &&
  Array.from(form.elements).some((field) => field instanceof HTMLInputElement && field.validity.badInput);

/** Focuses the first invalid field in an element after the next rendering. */
function focusWrong(around: EventTarget | null): void {
  if (!(around instanceof HTMLElement)) return;
  window.requestAnimationFrame(() => around.querySelector<HTMLElement>("[aria-invalid='true']")?.focus());
}
