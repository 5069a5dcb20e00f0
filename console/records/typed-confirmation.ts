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
