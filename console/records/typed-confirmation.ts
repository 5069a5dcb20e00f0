/**
 * What is wrong with a text that is typed to confirm something; "" when it is the text that was asked for.
 *
 * @param what what the text is, where its label does not say so
 */
export function typedMistake(wanted: string, typed: string, what = ""): string {
  if (typed === wanted) return "";
  const is = typed === "" ? "Needed" : `Not ${wanted}${what === "" ? "" : `, ${what}`}`;
  return `${is}: nothing was sent.`;
}
