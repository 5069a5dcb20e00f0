/** Longer words are not compared: no command is that long, and the work grows with the square of the length. */
const MAX_LENGTH = 40;

/** What other servers and tools call a command, an option or a setting here. Only a known word is named. */
const CALLED_ELSEWHERE: ReadonlyMap<string, readonly string[]> = new Map([
  ["--address", ["--listen", "VAULT_ADDR"]],
  ["--bind", ["--listen"]],
  ["--host", ["--listen"]],
  ["--port", ["--listen"]],
  ["--output", ["--to"]],
  ["--after", ["--since", "--created-after"]],
  ["--before", ["--until", "--created-before"]],
  ["--from", ["--since", "--created-after"]],
  ["--to", ["--until", "--created-before"]],
  ["health", ["doctor"]],
  ["list", ["tokens"]],
  ["logs", ["audit"]],
  ["lookup", ["find"]],
  ["start", ["serve"]],
  ["status", ["doctor"]],
]);

/** `; did you mean X?` with the known word nearest to a mistyped one, or of the same meaning; "" without one. */
export function didYouMean(word: string, known: readonly string[]): string {
  const nearest = nearestWord(word, known) ?? CALLED_ELSEWHERE.get(word)?.find((one) => known.includes(one));
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

/** The known word with the fewest mistakes: at most one for each three characters. */
export function nearestWord(word: string, known: readonly string[]): string | undefined {
  if (word.length > MAX_LENGTH) return undefined;
  const typed = word.toLowerCase();
  const distances = known.map((one) => ({ one, mistakes: mistakesBetween(typed, one.toLowerCase()) }));
  const [best] = distances.sort((a, b) => a.mistakes - b.mistakes);
  return best && best.mistakes <= Math.max(1, Math.floor(best.one.length / 3)) ? best.one : undefined;
}

/** Number of missing, extra, wrong or swapped characters (optimal string alignment distance). */
function mistakesBetween(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next.push(
        Math.min(
          cell(row, j) + 1,
          cell(next, j - 1) + 1,
          cell(row, j - 1) + (isSame ? 0 : 1),
          isExchanged ? cell(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    [before, row] = [row, next];
  }
  return cell(row, b.length);
}

const cell = (row: readonly number[], at: number): number => row[at] ?? Number.POSITIVE_INFINITY;
