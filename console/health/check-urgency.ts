const WORDS: Readonly<Record<string, string>> = {
  failing: "Act",
  attention: "Look",
  unknown: "Unknown",
  ok: "Good",
};

/** The state of a check in a word. */
export const stateWord = (state: string): string => WORDS[state] ?? "Unknown";

interface Judged {
  readonly state: string;
  readonly title: string;
}

const isKnown = ({ state }: Judged): boolean => state === "failing" || state === "attention";

/** The checks that need action, in a sentence; "" for none. */
export function toDoText(checks: readonly Judged[]): string {
  const urgent = byUrgency(checks.filter(isKnown));
  if (urgent.length === 0) return "";
  return `${urgent.length === 1 ? "1 thing" : `${urgent.length} things`} to do: ${urgent.map(({ title }) => title).join(", ")}.`;
}

/** The checks without a result, in a sentence; "" for none. */
export function unknownText(checks: readonly Judged[]): string {
  const unknown = checks.filter((check) => check.state !== "ok" && !isKnown(check));
  return unknown.length === 0 ? "" : `Not known: ${unknown.map(({ title }) => title).join(", ")}.`;
}

/** The checks, the most urgent first; checks of the same state keep their order. */
export function byUrgency<T extends { readonly state: string }>(checks: readonly T[]): readonly T[] {
  const order = Object.keys(WORDS);
  return [...checks].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}
