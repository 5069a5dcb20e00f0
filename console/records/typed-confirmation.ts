import { count } from "../format.ts";

/**
 * The mistake in a number that is typed to confirm something; "" for the number with the separators of the page or
 * without.
 *
 * @param what describes the number
 */
export const typedNumberMistake = (wanted: number, typed: string, what: string): string =>
  typed === String(wanted) ? "" : typedMistake(count(wanted), typed, what);

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
