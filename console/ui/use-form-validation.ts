import { useState } from "preact/hooks";

/**
 * How a form refuses to be sent. A button that is only disabled does not say why: here the attempt marks what is wrong, and
 * moves the focus to the first such field.
 *
 * @returns whether the last attempt was refused, and what a form does at `submit`: true when it may be sent
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

/** True for a form with a field whose text the browser gives as "", as it is no value: part of a date, no number. */
const hasBadInput = (form: EventTarget | null): boolean =>
  form instanceof HTMLFormElement &&
  Array.from(form.elements).some((field) => field instanceof HTMLInputElement && field.validity.badInput);

/** Moves the focus to the first field below an element that is marked as wrong, once the marks are drawn. */
export function focusWrong(around: EventTarget | null): void {
  if (!(around instanceof HTMLElement)) return;
  window.requestAnimationFrame(() => around.querySelector<HTMLElement>("[aria-invalid='true']")?.focus());
}
