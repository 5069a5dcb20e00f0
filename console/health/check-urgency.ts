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

/** What there is to do, in a sentence; "" when no check asks for something. */
export function toDoText(checks: readonly Judged[]): string {
  const urgent = byUrgency(checks.filter(isKnown));
  if (urgent.length === 0) return "";
  return `${urgent.length === 1 ? "1 thing" : `${urgent.length} things`} to do: ${urgent.map(({ title }) => title).join(", ")}.`;
}

/** What no check can say, or not yet, in a sentence; "" when all is known. */
export function unknownText(checks: readonly Judged[]): string {
  const unknown = checks.filter((check) => check.state !== "ok" && !isKnown(check));
  return unknown.length === 0 ? "" : `Not known: ${unknown.map(({ title }) => title).join(", ")}.`;
}

/** The checks, the most urgent first; checks of the same state keep their order. */
export function byUrgency<T extends { readonly state: string }>(checks: readonly T[]): readonly T[] {
  const order = Object.keys(WORDS);
  return [...checks].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}
