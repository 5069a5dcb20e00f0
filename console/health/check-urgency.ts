const WORDS: Readonly<Record<string, string>> = {
  failing: "Act",
  attention: "Look",
  unknown: "Unknown",
  ok: "Good",
};

/** The state of a check in a word. */
export const stateWord = (state: string): string => WORDS[state] ?? "Unknown";

/** What there is to do, in a sentence; "" when every check is fine. */
export function toDoText(checks: readonly { readonly state: string; readonly title: string }[]): string {
  const urgent = byUrgency(checks.filter(({ state }) => state !== "ok"));
  if (urgent.length === 0) return "";
  return `${urgent.length === 1 ? "1 thing" : `${urgent.length} things`} to do: ${urgent.map(({ title }) => title).join(", ")}`;
}

/** The checks, the most urgent first; those of one state stay in their order. */
export function byUrgency<T extends { readonly state: string }>(checks: readonly T[]): readonly T[] {
  const order = Object.keys(WORDS);
  return [...checks].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}
