import { count } from "../format.ts";

/** True for a number as pages show it, `1,080`, and without separators. */
export const isNumberAsShown = (wanted: number, typed: string): boolean =>
  typed === String(wanted) || typed === count(wanted);

/** The mistake in a number that is typed to confirm something; "" without one. @param what describes the number */
export const typedNumberMistake = (wanted: number, typed: string, what: string): string =>
  isNumberAsShown(wanted, typed) ? "" : typedMistake(count(wanted), typed, what);

/**
 * The mistake in a text that is typed to confirm something; "" when it is the wanted text.
 *
 * @param what a description of the text, when its label does not give one
 */
export function typedMistake(wanted: string, typed: string, what = ""): string {
  if (typed === wanted) return "";
  const is = typed === "" ? "Needed" : `Not ${wanted}${what === "" ? "" : `, ${what}`}`;
  return `${is}: nothing was sent.`;
}
