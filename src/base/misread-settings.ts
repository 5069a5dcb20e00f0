import { misreadChoices } from "./choice-settings.ts";
import { misreadNumbers } from "./number-settings.ts";

/** A message for the operator about each setting with a value that is not understood. It does not repeat the value. */
export function misreadSettings(settings: Readonly<Record<string, unknown>>): string[] {
  return [...misreadNumbers(settings), ...misreadChoices(settings)];
}
